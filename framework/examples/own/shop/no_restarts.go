package shop

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// NoRestarts promises that no container of the workload restarts, whatever is done to the cluster.
//
// Evidence: watches saw every change of a pod.
type NoRestarts struct{}

func (NoRestarts) String() string { return "no container restarts" }

// Needs implements invariant.Invariant.
func (NoRestarts) Needs() evidence.Needs {
	return evidence.Needs{Parts: []evidence.Part{evidence.PartPods}}
}

// Judge implements invariant.EventInvariant.
func (NoRestarts) Judge(r *evidence.Run, missing verdict.Missing) verdict.Verdict {
	for _, e := range r.Record.Events {
		if e.Pod != nil && e.Pod.Restarts > 0 {
			return verdict.Verdict{At: e.T}.Violated(missing, "a container of pod %s has restarted", e.Pod.Name)
		}
	}
	return verdict.Verdict{}.Held(missing, "no container has restarted")
}
