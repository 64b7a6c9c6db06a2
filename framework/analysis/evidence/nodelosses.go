package evidence

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// LostUnasked finds the node of a kind that was lost without a fault, while the machine was starved, and not back before a moment;
// nil if there is none.
func (f *Run) LostUnasked(name string, from, to history.Offset, like func(*history.NodeLoss) bool) *history.NodeLoss {
	grace := f.Record.Header.Cluster.Timings.NodeMonitorGrace + restless
	for i := range f.Noise.unasked {
		loss := &f.Noise.unasked[i]
		back := Never
		if loss.Back.OK {
			back = loss.Back.At + PropagationSlack
		}
		if (name == "" || loss.Name == name) && to >= loss.At-grace && from <= back && like(loss) {
			return loss
		}
	}
	return nil
}

// Inhabited tells whether any pod of the scenario was on a node when it was lost, be it a load worker: else no request led there.
func (f *Run) Inhabited(loss *history.NodeLoss) bool {
	is, known := f.Noise.inhabited[loss]
	if !known {
		for _, pod := range f.Record.StateAt(loss.At).Pods {
			is = is || pod.Node == loss.Name && !pod.Ended()
		}
		f.Noise.inhabited[loss] = is
	}
	return is
}

func AnyLoss(*history.NodeLoss) bool { return true }

func (f *Run) SayLost(loss *history.NodeLoss) string {
	return fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved: %s", loss.Name, prose.Moment(loss.At), f.Starved(loss))
}

// Carried tells whether a pod of a workload was on a node when it was lost.
func (f *Run) Carried(loss *history.NodeLoss) bool {
	state := f.Record.StateAt(loss.At)
	for _, pod := range state.Pods {
		if pod.Node != loss.Name || pod.Ended() {
			continue
		}
		for _, w := range state.Workloads {
			if w.Namespace == pod.Namespace && history.Selects(w.Selector, pod.Labels) {
				return true
			}
		}
	}
	return false
}

// Starved says how it is known that the machine was starved when a node was lost.
func (f *Run) Starved(loss *history.NodeLoss) string {
	grace := f.Record.Header.Cluster.Timings.NodeMonitorGrace + restless
	return InWords(f.Loudest(loss.At-grace, loss.At))
}

// asked tells whether a fault had taken a node, or may have: of one that failed it is not known which nodes it touched.
func (f *Run) asked(loss history.NodeLoss) bool {
	return slices.ContainsFunc(f.Faults, func(fault history.FaultLife) bool {
		return fault.Injecting.OK && fault.Injecting.At <= loss.At &&
			(slices.Contains(fault.Nodes, loss.Name) || !fault.Seen.OK || len(fault.Errors) > 0 || loss.At < fault.Seen.At)
	})
}
