package apptest

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// addition is the suite of the scenarios with what the audit proposes.
const addition = "add"

// Addition is a patch that the audit proposes, and the scenarios in which it was tried.
type Addition struct {
	Rule, Title string   // of the audit
	Commands    []string // the patch
	Place       string   // the workload in its manifest
	Fault       string   // the one of Faults that it is for
	Twin        string   // the scenario without it; empty: none has the fault
	With        []string // the scenarios with it; none: there was nothing that it could cure

	workload string
}

// additionFaults are the faults that show most clearly whether what a rule of the audit misses is missing.
var additionFaults = map[string]string{
	"no-prestop": "rollout", "no-readiness-probe": "rollout", "short-grace-period": "rollout", "offers-unready-pods": "rollout", "no-room-to-surge": "rollout", "quota-stops-rollout": "rollout",
	"no-budget": "drain", "single-replica": "drain", "budget-blocks-drains": "drain",
	"one-node": "drain", "one-zone": "drain", "unusable-domain": "drain", "soft-constraint-violated": "drain", "no-match-label-keys": "drain",
	"pending-on-hard-constraint": "drain", "unmeetable-anti-affinity": "drain",
	"recreates-all-pods": "rollout", "autoscaler-minimum": "drain", "budget-covers-nothing": "drain", "unhealthy-pods-block-drains": "drain", "no-spread": "drain",
	"liveness-asks-readiness": "node-kill", // which leaves more requests for the others
	"fixed-node-ports":        "node-kill", // a node that is drained still forwards requests
}

// additionsUnder are the faults under which every workload is tried, whatever its manifests have. What is for another fault is listed, and not tried.
var additionsUnder = []string{"rollout", "drain"}

// Add notes what the audit of a scenario's workload proposes, and returns the scenarios that try it: times times each, with nothing else
// changed, after a scenario whose promises were broken. After another there is nothing that an addition could cure.
func (tried *Trial) Add(of scenario.Spec, outcome verdict.Outcome, found []history.Finding) (specs []scenario.Spec, err error) {
	at := slices.IndexFunc(tried.twins, func(t twin) bool { return t.Name == of.Name })
	if at < 0 {
		return nil, nil
	}
	with := tried.twins[at]
	for _, f := range found {
		if len(f.Fix) == 0 {
			continue
		}
		if additionFaults[f.Rule] != with.fault {
			tried.other(f, with.workload)
			continue
		}
		a := tried.newAddition(f, with.workload)
		a.Twin = with.Name
		for n := range tried.times {
			if outcome != verdict.Violated {
				break
			}
			s, err := with.with(f, n)
			if err != nil {
				return nil, fmt.Errorf("add what the audit proposes for %s: %w", f.Rule, err)
			}
			a.With, specs = append(a.With, s.Name), append(specs, s)
		}
		tried.Additions = slices.DeleteFunc(tried.Additions, a.same)
		tried.Additions = append(tried.Additions, a)
	}
	return specs, nil
}

// other notes a proposal that another fault is for, unless it was noted.
func (tried *Trial) other(f history.Finding, w app.Workload) {
	if a := tried.newAddition(f, w); !slices.ContainsFunc(tried.Additions, a.same) {
		tried.Additions = append(tried.Additions, a)
	}
}

func (a Addition) same(other Addition) bool {
	return other.Rule == a.Rule && other.workload == a.workload
}

func (tried *Trial) newAddition(f history.Finding, w app.Workload) Addition {
	a := Addition{Rule: f.Rule, Commands: f.Commands, Fault: additionFaults[f.Rule], workload: w.Name}
	if i := slices.IndexFunc(audit.Rules, func(r audit.Rule) bool { return r.ID == f.Rule }); i >= 0 {
		a.Title = audit.Rules[i].Title
	}
	if at := manifestOf(tried.test.App, w); at >= 0 {
		a.Place = tried.test.App.Manifests[at].Place("metadata", "name")
	}
	return a
}

// with is the twin with the fix for a finding, which is applied to the copy in the cluster, as --fix does.
func (t twin) with(f history.Finding, n int) (scenario.Spec, error) {
	steps, _ := judge.Fixes([]judge.Remedy{{Rule: f.Rule, Fix: f.Fix}})
	s, err := t.Fixed(steps)
	if err != nil {
		return s, err
	}
	s.Name = fmt.Sprintf("%s/%s-%s-%d", addition, f.Rule, t.named, n+1)
	s.Claim = "with " + f.Rule + " mended, " + t.Claim
	return s, s.Validate()
}

// worth says in how many of its scenarios the promises were held with an addition.
func (a Addition) worth(outcome map[string]tested) string {
	without := outcome[a.Twin]
	switch held, judged := a.held(outcome); {
	case a.Twin == "":
		return fmt.Sprintf("not tried: it is for %s, which was not run", a.Fault)
	case len(a.With) == 0:
		return fmt.Sprintf("not tried: without it, %s was %s", a.Twin, without)
	case len(judged) == 0:
		return "not known: no run with it could be judged"
	default:
		return fmt.Sprintf("%s was held in %d of %d (%s failed; without it %d)", a.Twin, held, len(judged), counts(judged), without.failed)
	}
}

// held is in how many of the judged scenarios the promises were held.
func (a Addition) held(outcome map[string]tested) (held int, judged []tested) {
	for _, name := range a.With {
		s := outcome[name]
		if !s.judged() {
			continue
		}
		judged = append(judged, s)
		if s.outcome == verdict.Held {
			held++
		}
	}
	return held, judged
}
