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

// AuditMends promises that an audit of a workload finds given faults of its manifests, and none after the audit's own patches were
// applied.
//
// Evidence: two audits of the workload while the faults were active, both of which checked everything.
type AuditMends struct {
	// Rules that the first audit must find, by ID.
	Rules []string `json:"rules"`
	// Workload that was audited; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p AuditMends) String() string {
	return fmt.Sprintf("the audit finds %s in %s, and nothing after its patches are applied", prose.List(p.Rules), whose(p.Workload))
}

// Needs implements Invariant.
func (p AuditMends) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Parts: []evidence.Part{evidence.PartAudits}}
}

// Judge implements EventInvariant.
func (p AuditMends) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	if len(p.Rules) == 0 {
		missing.Add("no audit rule is named")
	}
	var looks []history.Event
	for _, e := range f.Record.Events {
		if e.Audit != nil && e.Audit.Namespace == key.Namespace && e.Audit.Workload == key.Name {
			looks = append(looks, e)
		}
	}
	v := verdict.Verdict{}
	v.Measure("audits", float64(len(looks)))
	if len(looks) < 2 {
		missing.Add("%s was audited %s, so what the patches change is unknown", key.Name, prose.Count(len(looks), "time"))
		return v.Unknown(missing)
	}
	first, last := looks[0], looks[len(looks)-1]
	for _, look := range []history.Event{first, last} {
		if len(look.Audit.NotChecked) > 0 {
			missing.Add("the audit at %s could not check %s", prose.Moment(look.T), look.Audit.NotChecked[0])
		}
		for _, finding := range look.Audit.Findings {
			v.Support(fmt.Sprintf("%s: %s: %s", prose.Moment(look.T), finding.Rule, finding.Evidence))
		}
	}
	v.Measure("found", float64(len(first.Audit.Findings)))
	v.Measure("left", float64(len(last.Audit.Findings)))
	for _, rule := range p.Rules {
		if !slices.Contains(rulesOf(first.Audit), rule) {
			v.At = first.T
			return v.Violated(missing, "the audit of %s found %s at %s, and not %s", key.Name, cmp.Or(prose.List(rulesOf(first.Audit)), "nothing"), prose.Moment(first.T), rule)
		}
	}
	if left := rulesOf(last.Audit); len(left) > 0 {
		v.At = last.T
		return v.Violated(missing, "the audit of %s still found %s at %s, after its patches were applied: %s",
			key.Name, prose.List(left), prose.Moment(last.T), last.Audit.Findings[0].Evidence)
	}
	return v.Held(missing, "the audit of %s found %s at %s, and nothing at %s, after %s of fixes",
		key.Name, prose.List(rulesOf(first.Audit)), prose.Moment(first.T), prose.Moment(last.T), prose.Count(len(looks)-1, "step"))
}

func rulesOf(a *history.Audit) (rules []string) {
	for _, finding := range a.Findings {
		if !slices.Contains(rules, finding.Rule) {
			rules = append(rules, finding.Rule)
		}
	}
	return rules
}
