package journal

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/field"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/fingerprint"
)

// settleLimit bounds the wait for controllers that follow an undo: the node controller removes the taint of a node that was uncordoned.
const settleLimit = 30 * time.Second

// Difference is a field that is not as it was before the first change of a journal.
type Difference struct {
	Object Object
	fingerprint.Difference
	// Why explains it: which change was left and why, or who has changed the field. Empty: it is not explained.
	Why string
}

func (d Difference) String() string {
	why := cmp.Or(d.Why, "nothing says who has changed it")
	if d.Field == "" {
		return fmt.Sprintf("%s: was %s, and is %s: %s", d.Object, d.Before, d.Now, why)
	}
	return fmt.Sprintf("%s: %s: was %s, and is %s: %s", d.Object, d.Field, field.Worded([]byte(d.Before)), field.Worded([]byte(d.Now)), why)
}

// Unread lists what the fingerprint does not contain, and why: there, no difference can be seen.
func (j *Journal) Unread() (all []string) {
	prints, _, err := j.fingerprints()
	if err != nil {
		return []string{err.Error()}
	}
	for _, s := range prints {
		if s.Unread != "" {
			all = append(all, s.Unread)
		}
	}
	return all
}

// Differences compares the cluster with the fingerprint from before the first change. Controllers that follow an undo get half a minute: it
// returns at once when every difference is explained, and otherwise those that the last complete comparison has found.
func (j *Journal) Differences(ctx context.Context) (all []Difference, err error) {
	compared := false
	err = poll.Until(ctx, "the cluster to be as it was", settleLimit, func(ctx context.Context) (bool, string, error) {
		now, err := j.compare(ctx)
		if err != nil { // at the end of the time a comparison is cut off: what the one before has found is still so
			return false, "", err
		}
		all, compared = now, true
		open := slices.ContainsFunc(all, func(d Difference) bool { return d.Why == "" })
		return !open, fmt.Sprintf("%d differences", len(all)), nil
	})
	if compared {
		return all, nil
	}
	return nil, err
}

// compare compares once.
func (j *Journal) compare(ctx context.Context) (all []Difference, err error) {
	prints, entries, err := j.fingerprints()
	if err != nil {
		return nil, err
	}
	for _, s := range prints {
		if s.Unread != "" {
			continue
		}
		now, objects, err := j.take(ctx, s.Of, s.Salt)
		if err != nil {
			return nil, fmt.Errorf("compare with the fingerprint: %w", err)
		}
		for _, d := range fingerprint.Diff(s.Print, now.Print) {
			o := s.Of
			if o.Name = d.Name; s.Of == claimsOf(o.Namespace) && !slices.ContainsFunc(prints, func(set snapshot) bool { return set.claims(o) }) {
				continue // of other pods of the namespace
			}
			i := slices.IndexFunc(objects, func(u unstructured.Unstructured) bool { return u.GetName() == d.Name })
			var read *unstructured.Unstructured
			if i >= 0 {
				read = &objects[i]
			}
			all = append(all, Difference{Object: o, Difference: d, Why: j.explain(entries, o, d, read)})
		}
	}
	return all, nil
}

// claims reports whether s is of a StatefulSet whose controller makes a claim.
func (s snapshot) claims(o Object) bool {
	for at, template := range s.Print[s.Of.Name] {
		ordinal, is := strings.CutPrefix(o.Name, strings.Trim(template, `"`)+"-"+s.Of.Name+"-")
		_, err := strconv.ParseUint(ordinal, 10, 31)
		if is && err == nil && s.Of == Workload("statefulsets", o.Namespace, s.Of.Name) && claimTemplate.MatchString(at) {
			return true
		}
	}
	return false
}

// claimTemplate is the field of a fingerprint with the name of a claim template.
var claimTemplate = regexp.MustCompile(`^/spec/volumeClaimTemplates/\d+/metadata/name$`)

// explain says why a field differs: an entry that was left, or somebody else's change, of which the object itself knows. Empty: neither.
func (j *Journal) explain(entries []Entry, o Object, d fingerprint.Difference, read *unstructured.Unstructured) string {
	for _, e := range slices.Backward(entries) {
		if e.Object.whole() == o && (e.State == Left && covers(e.Field, d.Field) || e.NoUndo != "" && covers(e.Field, d.Field)) {
			return fmt.Sprintf("%s: %s", e, cmp.Or(e.Why, e.NoUndo))
		}
	}
	switch {
	case read == nil && o.Resource == claimsOf("").Resource: // which a StatefulSet's controller deletes for one replica less
		return ""
	case read == nil:
		return "deleted by another client: a run deletes none"
	case d.Field == fingerprint.UID, d.Field == "":
		return "created by " + creator(read)
	}
	path := field.Tokens(d.Field)
	if strings.HasPrefix(d.Field, "/spec/taints/") {
		path = path[:2] // taints are owned as one
	}
	by := field.Owners(read, path)
	if len(by) == 0 || slices.ContainsFunc(by, func(o field.Owner) bool { return o.Manager == managerOf(j.o.Run) || o.Manager == undoer }) {
		return ""
	}
	return "changed by " + field.Names(by)
}

// covers reports whether the field of an entry is that of a difference, or contains it.
func covers(entry, differs string) bool {
	return differs == "" || differs == fingerprint.UID || differs == entry || strings.HasPrefix(differs, entry+"/")
}

// creator is who has created an object: the oldest of those who have written it.
func creator(o *unstructured.Unstructured) string {
	var first field.Owner
	for _, m := range o.GetManagedFields() {
		if m.Time != nil && (first.At.IsZero() || m.Time.Time.Before(first.At)) {
			first = field.Owner{Manager: m.Manager, At: m.Time.Time}
		}
	}
	if first.Manager == "" {
		return "a client that is not known, at " + o.GetCreationTimestamp().UTC().Format(time.RFC3339)
	}
	return field.Names([]field.Owner{first})
}

// Planned is what an undo would do with an entry now.
type Planned struct {
	Entry
	Decision
	Err error // why it is not known
}

func (p Planned) String() string {
	why := ""
	if p.Decision.Why != "" {
		why = ": " + p.Decision.Why
	}
	switch {
	case p.Err != nil:
		return fmt.Sprintf("%s: it is not known what would be done: %v", p.What, p.Err)
	case p.Decision.State == Undone:
		return "would undo: " + p.What + p.back() + why
	case p.Decision.State == SeenUndone:
		return "nothing to undo: " + p.What + why
	}
	return "would leave as it is: " + p.What + why
}

// Preview returns what Undo would do, the newest change first. It only reads.
func (j *Journal) Preview(ctx context.Context) (all []Planned) {
	for _, e := range slices.Backward(j.Unfinished()) {
		p := Planned{Entry: e}
		switch {
		case e.NoUndo != "":
			p.Decision = Decision{State: Left, Why: e.NoUndo}
		case e.Action == Command:
			p.Decision = Decision{State: Undone, Why: fmt.Sprintf("by the command %q", e.RunUndo)}
		default:
			read, err := j.get(ctx, e.Object)
			p.Decision, p.Err = j.decide(e, read, err)
		}
		all = append(all, p)
	}
	return all
}
