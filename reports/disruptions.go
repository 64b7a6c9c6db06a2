package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// meet counts what the watches saw being taken away while each fault was on. A fault that was never healed was on to the end.
func (s *Scenario) meet(run history.Run) {
	owned, seen := newOwners(run.Events), objects.New(run.Events)
	for i := range s.Faults {
		from, to := began(&s.Faults[i]), ended(&s.Faults[i], s.End)
		m := Met{NodeLosses: len(seen.NodeLosses(from, to)), PodRestarts: restarts(run.Events, owned, from, to)}
		for _, end := range seen.Terminations(from, to) {
			if owned.workload(end.Namespace, end.Labels) != "" {
				m.PodTerminations++
			}
		}
		s.Met = append(s.Met, m)
	}
}

// restarts counts the containers of workloads' pods that were started again between two moments.
func restarts(events []history.Event, owned *owners, from, to history.Offset) (n int) {
	before := make(map[string]int) // by UID
	for i := range events {
		e := &events[i]
		if e.Pod == nil || e.Pod.Ended() || owned.workload(e.Pod.Namespace, e.Pod.Labels) == "" {
			continue // a kubelet that is restarted counts one more of a pod that it had evicted
		}
		if more := e.Pod.Restarts - before[e.Pod.UID]; more > 0 && e.T >= from && e.T < to {
			n += more
		}
		before[e.Pod.UID] = e.Pod.Restarts
	}
	return n
}

// disruptions counts what the watches saw being taken away while the run was disturbed: pods of Deployments that began
// to end, and nodes that stopped being ready. The invariants count alike, so that a report agrees with its verdicts.
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
