package judge

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

const (
	// RecoversAfter is how soon a workload has settled again after what disturbed it, and its spread is back: a readiness probe, a slow
	// start and a pull of an image fit into it.
	RecoversAfter = 5 * time.Minute
	// FailuresEndAfter is how soon failures end after a node was lost, in a cluster with Kubernetes' own timings: NodeLossLimit of a grace
	// period of 50 s and a monitor period of 5 s.
	FailuresEndAfter = 63 * time.Second
)

// RecordingLimits are the limits of a recording's promises. Zero means RecoversAfter and FailuresEndAfter.
type RecordingLimits struct{ Recovers, FailuresEnd time.Duration }

// PromisesOf are what is promised of a recording: budgets are honoured, pods are bound where the hard rules allow it, workloads and their
// spread recover; and, with load, no request fails through what is voluntary, and after what is involuntary failures end in time and are
// the victims' share. Each is judged where something happened that it is about.
func PromisesOf(r history.Recorded, limits RecordingLimits) ([]history.Promise, error) {
	recovers := cmp.Or(limits.Recovers, RecoversAfter)
	var all []invariant.Invariant
	if r.Load != "" {
		all = append(all, invariant.NoFailedRequests{}, invariant.FailuresEndWithin{Limit: cmp.Or(limits.FailuresEnd, FailuresEndAfter)})
	}
	all = append(all, invariant.RecoversWithin{Limit: recovers}, invariant.BudgetHonoured{}, invariant.Placement{},
		invariant.SpreadWithin{Limit: recovers})
	promises := make([]history.Promise, len(all))
	for i, p := range all {
		promise, err := invariant.Encode(p)
		if err != nil {
			return nil, err
		}
		promises[i] = promise
	}
	return promises, nil
}
