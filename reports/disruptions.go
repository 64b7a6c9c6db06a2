package reports

import (
	"github.com/holdfast-ha/holdfast/framework/history"
)

// disruptions counts what the watches saw being taken away while the run was disturbed: pods of Deployments that began
// to end, and nodes that stopped being ready. The invariants count alike, so that a report agrees with its verdicts.
func disruptions(run history.Run) Disruptions {
	from, to, ok := run.Window(history.Disturbed)
	if !ok {
		return Disruptions{}
	}
	d := Disruptions{NodeLosses: len(run.NodeLosses(from, to))}
	owned := newOwners(run.Events)
	for _, end := range run.Terminations(from, to) {
		if owned.workload(end.Namespace, end.Labels) != "" {
			d.PodTerminations++
		}
	}
	return d
}
