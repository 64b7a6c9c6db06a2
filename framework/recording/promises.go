package recording

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

// promises are those that a recording is judged by: what any change of a cluster must not do to the applications on it. Whoever changes the
// cluster, and what for, does not matter.
func (o *Options) promises() []invariant.Invariant {
	if len(o.Promises) > 0 {
		return o.Promises
	}
	var list []invariant.Invariant
	if len(o.Probes) > 0 {
		list = append(list, invariant.NoFailedRequests{})
	}
	if len(o.Probes) > 0 && !o.Planned { // else the promise above is about involuntary disruptions as well
		list = append(list, invariant.FailuresEndWithin{})
	}
	return append(list, invariant.BudgetHonoured{}, invariant.RecoversWithin{Limit: o.Recover},
		invariant.Placement{}, invariant.SpreadWithin{Limit: o.Recover})
}

// watchedFor are the kinds of objects that promises read, by the parts of a record that they need.
var watchedFor = map[evidence.Part]string{
	evidence.PartNodes: "nodes", evidence.PartSlices: "endpointslices", evidence.PartBudgets: "poddisruptionbudgets",
}

// judgeable leaves out the promises that cannot be judged because the user must not watch what they read, and says so, a sentence each.
func judgeable(all []invariant.Invariant, not []history.NotWatched) (kept []invariant.Invariant, left []string) {
	for _, p := range all {
		needs := p.Needs().All()
		at := slices.IndexFunc(not, func(n history.NotWatched) bool {
			return slices.ContainsFunc(needs, func(part evidence.Part) bool { return watchedFor[part] == n.What })
		})
		if at < 0 {
			kept = append(kept, p)
			continue
		}
		left = append(left, fmt.Sprintf("It is not judged whether %s: %s.", p, not[at].Why))
	}
	return kept, left
}
