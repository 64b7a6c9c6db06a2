package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// countAffected counts the pods and nodes that the watches saw lost during each fault. A fault that was never reverted lasts to the end.
func (s *Scenario) countAffected(run history.Run) {
	owned, seen := newOwners(run.Events), objects.New(run.Events)
	for i := range s.Faults {
		f := &s.Faults[i]
		from, to := f.Began(), f.Ended(s.End)
		f.NodeLosses, f.PodRestarts = len(seen.NodeLosses(from, to)), restarts(run.Events, owned, from, to)
		for _, end := range seen.Terminations(from, to) {
			if owned.workload(end.Last()) != "" {
				f.PodTerminations++
			}
		}
	}
}

// restarts counts the container restarts in the pods of workloads between two moments.
func restarts(events []history.Event, owned *owners, from, to history.Offset) (n int) {
	before := make(map[string]int) // by UID
	for i := range events {
		e := &events[i]
		if e.Pod == nil || e.Pod.Ended() || owned.workload(e.Pod) == "" {
			continue // a restarted kubelet adds a restart to a pod that it had evicted
		}
		if more := e.Pod.Restarts - before[e.Pod.UID]; more > 0 && e.T >= from && e.T < to {
			n += more
		}
		before[e.Pod.UID] = e.Pod.Restarts
	}
	return n
}

// disruptions counts what the faults took away. The verdicts count in the same way, so a report agrees with its verdicts: what the
// harness itself added, what a revert changed, and nodes that no fault touched are no disruptions.
func disruptions(run history.Run) Disruptions {
	n := evidence.New(run).Disruptions()
	return Disruptions{PodTerminations: n.Terminations, NodeLosses: n.Losses}
}
