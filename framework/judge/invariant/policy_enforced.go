package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// PolicyEnforced promises that an admission policy, while it is active, refuses each manifest that it must refuse, and no other:
// from when the last fault was seen to when the first revert began.
//
// Evidence: at least one manifest that must be refused and one that must be accepted; and every refusal came from the policy.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/
type PolicyEnforced struct{}

func (PolicyEnforced) String() string {
	return "an admission policy refuses each manifest that it must refuse, and no other, while it is active"
}

// Needs implements Invariant.
func (p PolicyEnforced) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Parts: []evidence.Part{evidence.PartAdmissions}}
}

// Judge implements EventInvariant.
func (p PolicyEnforced) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	a := admissionsOf(f)
	v := verdict.Verdict{}
	v.Measure("refused", float64(a.refused))
	v.Measure("accepted", float64(a.accepted))
	v.Measure("wrong", float64(len(a.wrong)))
	v.AtMost("wrong", 0)
	if len(a.wrong) > 0 {
		v.At = a.at
		v.Support(a.wrong...)
		return v.Violated(slices.Concat(missing, a.other), "%d of %s got the wrong answer: %s",
			len(a.wrong), prose.Count(a.tried, "manifest"), a.wrong[0])
	}
	missing = append(missing, a.other...)
	switch {
	case a.refused == 0:
		missing.Add("no manifest that must be refused was tried and refused while the faults were active")
	case a.accepted == 0:
		missing.Add("no manifest that must be accepted was tried and accepted while the faults were active")
	}
	if len(missing) > 0 {
		return v.Unknown(missing)
	}
	v.Support(a.right...)
	return v.Held(nil, "%s refused %d of %s, exactly those that it must refuse, and the others were accepted",
		prose.List(a.policies), a.refused, prose.Count(a.tried, "manifest"))
}

// admissions are the answers to the manifests that were tried while the faults were active.
type admissions struct {
	policies                 []string // policies that must refuse something
	tried, refused, accepted int
	right, wrong             []string // one line for each
	at                       history.Offset
	other                    verdict.Missing // refusals that did not come from the policy
}

func admissionsOf(f *evidence.Run) (a admissions) {
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
			a.mistake(t.T, "%s was accepted at %s, but %s must refuse it", who, prose.Moment(t.T), m.Against)
		case against && m.By == m.Against:
			a.refused++
			a.right = append(a.right, fmt.Sprintf("%s was refused: %s", who, m.Message))
		case !against && slices.Contains(a.policies, m.By):
			a.mistake(t.T, "%s was refused by %s at %s, but must be accepted: %s", who, m.By, prose.Moment(t.T), m.Message)
		case against:
			a.other.Add("%s was refused at %s, but not by %s: %s", who, prose.Moment(t.T), m.Against, m.Message)
		default:
			a.other.Add("%s was refused at %s, but not by the policy under test: %s", who, prose.Moment(t.T), m.Message)
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

// triedManifests are the answers while all faults were active, by time and then by manifest.
func triedManifests(f *evidence.Run) (tried []history.Event) {
	from := history.Offset(0)
	for _, fault := range f.Faults {
		from = max(from, fault.Seen.At)
	}
	to, undone := f.FirstRevert()
	if !undone {
		to = f.End()
	}
	for _, e := range f.Record.Events {
		if e.Admission != nil && e.T >= from && e.T < to {
			tried = append(tried, e)
		}
	}
	slices.SortStableFunc(tried, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.T, b.T), cmp.Compare(a.Admission.Kind, b.Admission.Kind), cmp.Compare(a.Admission.Name, b.Admission.Name))
	})
	return tried
}
