package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// AuditMends promises that an audit of a workload finds what is wrong with it, and nothing any more once its own patches
// have been applied.
//
// Evidence: two audits of the workload while the faults were in force, of which nothing was left out.
type AuditMends struct {
	// Rules that the first audit must find, by ID.
	Rules []string `json:"rules"`
	// Workload that was audited; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p AuditMends) String() string {
	return fmt.Sprintf("the audit finds %s of %s, and nothing once its patches are applied", list(p.Rules), cmp.Or(p.Workload, "the workload"))
}

func (p AuditMends) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true), missing)
	if len(missing) > 0 {
		return Verdict{}.unknown(d)
	}
	if len(p.Rules) == 0 {
		d.add("no rule is named that the audit must find")
	}
	var looks []history.Event
	for _, e := range f.run.Events {
		if e.Audit != nil && e.Audit.Namespace == key.Namespace && e.Audit.Workload == key.Name {
			looks = append(looks, e)
		}
	}
	v := Verdict{}
	v.measure("audits", float64(len(looks)))
	if len(looks) < 2 {
		d.add("%s was audited %s: what patches change is not known", key.Name, count(len(looks), "time"))
		return v.unknown(d)
	}
	first, last := looks[0], looks[len(looks)-1]
	for _, look := range []history.Event{first, last} {
		if len(look.Audit.NotChecked) > 0 {
			d.add("the audit at %s could not check %s", moment(look.T), look.Audit.NotChecked[0])
		}
		for _, finding := range look.Audit.Findings {
			v.support(fmt.Sprintf("%s: %s: %s", moment(look.T), finding.Rule, finding.Evidence))
		}
	}
	v.measure("found", float64(len(first.Audit.Findings)))
	v.measure("left", float64(len(last.Audit.Findings)))
	for _, rule := range p.Rules {
		if !slices.Contains(rulesOf(first.Audit), rule) {
			v.At = first.T
			return v.violated(d, "the audit of %s found %s at %s, and not %s", key.Name, cmp.Or(list(rulesOf(first.Audit)), "nothing"), moment(first.T), rule)
		}
	}
	if left := rulesOf(last.Audit); len(left) > 0 {
		v.At = last.T
		return v.violated(d, "the audit of %s still found %s at %s, after its patches: %s",
			key.Name, list(left), moment(last.T), last.Audit.Findings[0].Evidence)
	}
	return v.held(d, "the audit of %s found %s at %s, and nothing at %s, after %s of mending",
		key.Name, list(rulesOf(first.Audit)), moment(first.T), moment(last.T), count(len(looks)-1, "step"))
}

func rulesOf(a *history.Audit) (rules []string) {
	for _, finding := range a.Findings {
		if !slices.Contains(rules, finding.Rule) {
			rules = append(rules, finding.Rule)
		}
	}
	return rules
}
