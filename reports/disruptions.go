package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// countAffected counts the pods and nodes that the watches saw lost during each fault. A fault that was never reverted lasts to the end.
func (s *Scenario) countAffected(run history.Run) {
	owned, seen := newOwners(run.Events), objects.New(run.Events)
	for i := range s.Faults {
		f := &s.Faults[i]
		from, to := f.Began(), f.Ended(s.End)
		f.NodeLosses, f.PodRestarts = len(seen.NodeLosses(from, to)), restarts(run.Events, owned, from, to)
		for _, end := range seen.Terminations(from, to) {
			if owned.workload(end.Namespace, end.Labels) != "" {
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
		if e.Pod == nil || e.Pod.Ended() || owned.workload(e.Pod.Namespace, e.Pod.Labels) == "" {
			continue // a restarted kubelet adds a restart to a pod that it had evicted
		}
		if more := e.Pod.Restarts - before[e.Pod.UID]; more > 0 && e.T >= from && e.T < to {
			n += more
		}
		before[e.Pod.UID] = e.Pod.Restarts
	}
	return n
}

// disruptions counts what the watches saw lost while the run was disturbed: pods of Deployments that began to terminate, and nodes that
// became not ready. The invariants count in the same way, so that a report agrees with its verdicts.
func disruptions(run history.Run) Disruptions {
	from, to, ok := run.Window(history.Disturbed)
	if !ok {
		return Disruptions{}
	}
	seen := objects.New(run.Events)
	d := Disruptions{NodeLosses: len(seen.NodeLosses(from, to))}
	owned := newOwners(run.Events)
	for _, end := range seen.Terminations(from, to) {
		if owned.workload(end.Namespace, end.Labels) != "" {
			d.PodTerminations++
		}
	}
	return d
}
