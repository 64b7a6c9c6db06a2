package apptest

import (
	"encoding/json"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// aboutFailures are the kinds of the promises that limit failed requests.
var aboutFailures = []string{
	invariant.Kind(invariant.NoFailedRequests{}), invariant.Kind(invariant.FewFailedRequests{}), invariant.Kind(invariant.FailuresEndWithin{}),
}

// tested is what a scenario came to.
type tested struct {
	outcome verdict.Outcome // of a scenario without a practice: whether that was noticed; empty: it was not judged
	failed  uint64          // requests
}

// outcomesOf are the outcomes of a run's scenarios by their names.
func outcomesOf(f runfolder.File) map[string]tested {
	all := map[string]tested{}
	for _, s := range f.Scenarios {
		one := tested{outcome: verdict.Outcome(s.Outcome)}
		for _, raw := range s.Verdicts {
			var v verdict.Verdict
			if json.Unmarshal(raw, &v) != nil || !slices.Contains(aboutFailures, v.Kind) {
				continue
			}
			one.failed += uint64(v.Numbers["failed"])
		}
		all[s.Name] = one
	}
	return all
}

// judged reports whether there is a verdict for or against something.
func (t tested) judged() bool { return t.outcome == verdict.Held || t.outcome == verdict.Violated }

// String is the outcome in a word.
func (t tested) String() string {
	if t.outcome == "" {
		return "not judged"
	}
	return string(t.outcome)
}
