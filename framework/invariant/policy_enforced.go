package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// PolicyEnforced promises that of the manifests that were tried while the faults were in force, an admission policy refused
// each that it is to refuse, and no other: from the moment at which the last fault was seen to the moment at which the first
// undo began.
//
// Evidence: at least one manifest of either sort, and whatever was refused was refused by the policy.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type PolicyEnforced struct{}

func (PolicyEnforced) String() string {
	return "of the manifests tried while it is in force, an admission policy refuses each that it is to refuse, and no other"
}

func (p PolicyEnforced) judge(f *facts) Verdict {
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true))
	a := admissionsOf(f)
	v := Verdict{}
	v.measure("refused", float64(a.refused))
	v.measure("accepted", float64(a.accepted))
	v.measure("wrong", float64(len(a.wrong)))
	if len(a.wrong) > 0 {
		v.At = a.at
		v.support(a.wrong...)
		return v.violated(slices.Concat(d, a.other), "%d of %s got the wrong answer: %s",
			len(a.wrong), count(a.tried, "manifest"), a.wrong[0])
	}
	d = append(d, a.other...)
	switch {
	case a.refused == 0:
		d.add("no manifest that is to be refused was tried and refused while the faults were in force")
	case a.accepted == 0:
		d.add("no manifest that is to be accepted was tried and accepted while the faults were in force")
	}
	if len(d) > 0 {
		return v.unknown(d)
	}
	v.support(a.right...)
	return v.held(nil, "%s refused %d of %s, those that are to be refused, and the others were accepted",
		list(a.policies), a.refused, count(a.tried, "manifest"))
}

// admissions are the answers to what was tried while the faults were in force.
type admissions struct {
	policies                 []string // that are to refuse something
	tried, refused, accepted int
	right, wrong             []string // a line each
	at                       history.Offset
	other                    doubts // refusals that say nothing of the policy
}

func admissionsOf(f *facts) (a admissions) {
	tried := triedManifests(f)
	for _, t := range tried {
		if policy := t.Admission.Against; policy != "" && !slices.Contains(a.policies, policy) {
			a.policies = append(a.policies, policy)
		}
	}
	slices.Sort(a.policies)
	for _, t := range tried {
		a.tried++
		m := t.Admission
		who := m.Kind + " " + m.Name
		switch against := m.Against != ""; {
		case m.Accepted && !against:
			a.accepted++
			a.right = append(a.right, who+" was accepted")
		case m.Accepted:
			a.mistake(t.T, "%s was accepted at %s, and %s is to refuse it", who, moment(t.T), m.Against)
		case against && m.By == m.Against:
			a.refused++
			a.right = append(a.right, fmt.Sprintf("%s was refused: %s", who, m.Message))
		case !against && slices.Contains(a.policies, m.By):
			a.mistake(t.T, "%s was refused by %s at %s, and is to be accepted: %s", who, m.By, moment(t.T), m.Message)
		case against:
			a.other.add("%s was refused at %s, and not by %s: %s", who, moment(t.T), m.Against, m.Message)
		default:
			a.other.add("%s was refused at %s, and not by what is to refuse others: %s", who, moment(t.T), m.Message)
		}
	}
	return a
}

func (a *admissions) mistake(at history.Offset, format string, args ...any) {
	if len(a.wrong) == 0 {
		a.at = at
	}
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// triedManifests are the answers given while all faults were in force, in order; those of one moment by what was tried.
func triedManifests(f *facts) (tried []history.Event) {
	from := history.Offset(0)
	for _, fault := range f.faults {
		from = max(from, fault.Seen.At)
	}
	to, undone := f.firstUndo()
	if !undone {
		to = f.end()
	}
	for _, e := range f.run.Events {
		if e.Admission != nil && e.T >= from && e.T < to {
			tried = append(tried, e)
		}
	}
	slices.SortStableFunc(tried, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Admission.Kind, b.Admission.Kind), cmp.Compare(a.Admission.Name, b.Admission.Name))
	})
	return tried
}
