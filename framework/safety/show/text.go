package show

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// Text writes the document for a person: the cluster, then each fault with each object that it touches, then what is refused.
func (d Document) Text(out io.Writer) error {
	t := &text{}
	t.cluster(d)
	t.refusals("Nothing would be done", d.Refusals)
	for i, s := range d.Steps {
		t.step(i+1, s, d.Plan.Goes(s))
	}
	t.own(d.Own)
	for _, n := range d.Notes {
		t.line("note: %s", n)
	}
	t.end(d)
	_, err := io.WriteString(out, t.String())
	return err
}

type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { _, _ = fmt.Fprintf(t, format+"\n", args...) }

func (t *text) cluster(d Document) {
	c := d.Cluster
	t.line("Cluster %s", c.Server)
	for _, row := range [][2]string{
		{"context", cmp.Or(c.Context, "none is named")}, {"UID", cmp.Or(c.UID, "could not be read")},
		{"user", cmp.Or(c.User, "the API server does not tell")}, {"groups", strings.Join(c.Groups, ", ")},
		{"Kubernetes", c.Version}, {"other pods", strings.Join(d.Runs, ", ")},
	} {
		if row[1] != "" {
			t.line("  %-15s %s", row[0], row[1])
		}
	}
	for _, f := range d.Facts {
		t.line("  %-15s %s", f.Name, existing.Fact(f))
	}
	t.line("")
}

// refusals writes why something is not done; nothing if there is no reason.
func (t *text) refusals(head string, all []disturb.Refusal) {
	if len(all) == 0 {
		return
	}
	t.line("%s:", head)
	for _, r := range all {
		t.line("  %s: %s  [rule %d, %s]", r.Object, r.Reason, r.Rule, idOf(r.Rule))
		if r.Next != "" {
			t.line("    next: %s", r.Next)
		}
	}
	t.line("")
}

func idOf(number int) string {
	for _, r := range disturb.Rules {
		if r.Number == number {
			return r.ID
		}
	}
	return "unknown"
}

func (t *text) step(n int, s disturb.Step, goes bool) {
	at := ""
	if s.Node != nil {
		at = " on " + s.Node.String()
	}
	t.line("%d. %s of %s%s: %s, for at most %s", n, s.Fault, s.Workload, at, s.Does, s.Box.Duration)
	for _, touch := range s.Touches {
		t.touch(touch)
	}
	for _, note := range s.Notes {
		t.line("  note: %s", note)
	}
	if !goes && len(s.Refusals) == 0 {
		t.line("  refused with everything else")
	}
	t.line("")
	t.refusals("  Refused", s.Refusals)
}

func (t *text) touch(o disturb.Touch) {
	t.line("  %s: %s", o.Object, o.Does)
	if o.Field != "" {
		t.line("    field: %s, from %s to %s", o.Field, cmp.Or(o.Before, "nothing"), strings.Join(o.Ours, ", then "))
	}
	t.line("    undo:  %s", o.Undo)
	t.line("    needs: %s", strings.Join(o.Needs, ", "))
}

// own writes what holdfast creates for itself: a line for each kind in each namespace.
func (t *text) own(all []disturb.Own) {
	t.line("For itself, holdfast writes:")
	said := map[string]bool{}
	for _, o := range all {
		line := fmt.Sprintf("  %s in namespace %s: %s", o.Resource, o.Namespace, o.For)
		if !said[line] {
			said[line] = true
			t.line("%s", line)
		}
	}
	t.line("")
}

func (t *text) end(d Document) {
	refused := 0
	for _, s := range d.Steps {
		if !d.Plan.Goes(s) {
			refused++
		}
	}
	switch {
	case len(d.Steps) == 0:
		t.line("Nothing would be done: there is no workload under test.")
	case refused > 0:
		t.line("Of %s, %d would be refused.", prose.Count(len(d.Steps), "fault"), refused)
	default:
		t.line("All of it could be done. Nothing has been written.")
	}
}
