package invariant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	// fewLengths is how many lengths answers may have before the first fault so that another one means something. Where more came, lengths vary
	// with what an answer says, such as a time or a counter.
	fewLengths = 4
	// maxForms bounds what is kept of a lane.
	maxForms = 64
)

// form is what can be told of an answer without its text.
type form struct {
	status int
	bytes  int64
}

// formed are the good answers of a form.
type formed struct {
	n    uint64
	calm bool // at least one did not overlap a time in which the machine was saturated: the first such is that of at and by
	at   history.Offset
	by   string          // the pod; empty: it is not known
	why  evidence.Reason // of those that were not calm
}

// forms are those of a lane's good answers.
type forms struct {
	before, since map[form]*formed
	answers       uint64 // before the first fault
}

// take counts an answer. Of TCP, how many bytes are read depends on how they come in.
func (f *forms) take(r *history.Request, before bool, excuse func(from, to history.Offset) evidence.Reason) {
	if r.Outcome != history.OK || r.Lane == history.LaneControl || strings.HasPrefix(string(r.Lane), "tcp") {
		return
	}
	if f.before == nil {
		f.before, f.since = map[form]*formed{}, map[form]*formed{}
	}
	all := f.since
	if before {
		all = f.before
		f.answers++
	}
	of := form{r.Status, r.Bytes}
	if all[of] == nil {
		if len(all) == maxForms { // far more than fewLengths
			return
		}
		all[of] = &formed{}
	}
	s := all[of]
	s.n++
	if before || s.calm {
		return
	}
	if s.why = excuse(r.Sent, r.Done); !s.why.None() {
		return
	}
	s.calm, s.at, s.by = true, r.Sent, strings.Clone(r.Pod)
	if r.Inferred {
		s.by += " (inferred)"
	}
}

// lengths are those of answers with a status before the first fault.
func (f *forms) lengths(status int) (all []int64) {
	for of := range f.before {
		if of.status == status {
			all = append(all, of.bytes)
		}
	}
	slices.Sort(all)
	return all
}

// unlike is an answer since the first fault, with a status or a length as none before.
type unlike struct {
	formed
	lane history.Lane
	what string
}

func (u unlike) String() string {
	text := fmt.Sprintf("%s on %s had %s", prose.Count(u.n, "answer"), u.lane, u.what)
	switch {
	case !u.calm:
		return text + "; it " + u.why.Words
	case u.by != "":
		return text + fmt.Sprintf("; the first was sent at %s, and answered by %s", prose.Moment(u.at), u.by)
	}
	return text + "; the first was sent at " + prose.Moment(u.at)
}

// unlike are the answers of a lane that are unlike all before. A length between two that came before, or
// where many did, proves nothing; varied says so.
func (f *forms) unlike(lane history.Lane) (all []unlike, varied string) {
	if f.answers < evidence.MinRequests { // which AnswersWithin reports
		return nil, ""
	}
	for of, seen := range f.since {
		u := unlike{formed: *seen, lane: lane}
		switch known := f.lengths(of.status); {
		case len(known) == 0:
			u.what = fmt.Sprintf("status %d, as none of the %d before the first fault began", of.status, f.answers)
		case len(known) > fewLengths:
			continue
		case of.bytes < known[0], of.bytes > known[len(known)-1]:
			u.what = fmt.Sprintf("%s and status %d, where those of the %d before the first fault began with it had %s", prose.Count(uint64(of.bytes), "byte"), of.status, f.answers, span(known))
		default:
			continue
		}
		all = append(all, u)
	}
	slices.SortFunc(all, func(a, b unlike) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.what, b.what)) })
	for _, status := range slices.Sorted(maps.Keys(f.statuses())) {
		if n := len(f.lengths(status)); n > fewLengths {
			varied = fmt.Sprintf("answers on %s had %d or more lengths before the first fault began, so another length proves nothing: expect a text of a good answer", lane, n)
		}
	}
	return all, varied
}

func (f *forms) statuses() map[int]bool {
	all := map[int]bool{}
	for of := range f.before {
		all[of.status] = true
	}
	return all
}

// span is "200 bytes", or "200 to 204 bytes".
func span(lengths []int64) string {
	least, most := lengths[0], lengths[len(lengths)-1]
	if least == most {
		return prose.Count(uint64(least), "byte")
	}
	return fmt.Sprintf("%d to %d bytes", least, most)
}

// alike adds what is unlike before to a verdict: in words, and where it is promised that nothing is, as a figure. It returns the first of them that breaks
// the promise, and adds what is missing for it.
func (j *answersWithin) alike(v *verdict.Verdict, lanes []history.Lane, missing *verdict.Missing) (first *unlike) {
	total := 0.0
	for _, lane := range lanes {
		a := j.find(lane)
		if a == nil {
			continue
		}
		all, varied := a.forms.unlike(lane)
		if varied != "" && j.promise.Like {
			missing.Add("%s", varied)
		}
		for _, u := range all {
			v.Support(u.String())
			switch {
			case !j.promise.Like:
			case !u.calm:
				missing.Add("%s", u)
				u.why.Count(v, 1)
			default:
				total += float64(u.n)
				if first == nil || u.at < first.at {
					first = &u
				}
			}
		}
	}
	if j.promise.Like {
		v.Measure("unlikeBefore", total)
		v.AtMost("unlikeBefore", 0)
	}
	return first
}
