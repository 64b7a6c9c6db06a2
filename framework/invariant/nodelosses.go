package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// lostUnasked finds the node of a kind that was lost without a fault, while the machine was starved, and not back before a moment;
// nil if there is none.
func (f *facts) lostUnasked(name string, from, to history.Offset, like func(*history.NodeLoss) bool) *history.NodeLoss {
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	for i := range f.noise.unasked {
		loss := &f.noise.unasked[i]
		back := never
		if loss.Back.OK {
			back = loss.Back.At + PropagationSlack
		}
		if (name == "" || loss.Name == name) && to >= loss.At-grace && from <= back && like(loss) {
			return loss
		}
	}
	return nil
}

// inhabited tells whether any pod of the scenario was on a node when it was lost, be it a load worker: else no request led there.
func (f *facts) inhabited(loss *history.NodeLoss) bool {
	is, known := f.noise.inhabited[loss]
	if !known {
		for _, pod := range f.run.StateAt(loss.At).Pods {
			is = is || pod.Node == loss.Name && !pod.Ended()
		}
		f.noise.inhabited[loss] = is
	}
	return is
}

func anyLoss(*history.NodeLoss) bool { return true }

func (f *facts) sayLost(loss *history.NodeLoss) string {
	return fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved: %s", loss.Name, moment(loss.At), f.starved(loss))
}

// carried tells whether a pod of a workload was on a node when it was lost.
func (f *facts) carried(loss *history.NodeLoss) bool {
	state := f.run.StateAt(loss.At)
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

// starved says how it is known that the machine was starved when a node was lost.
func (f *facts) starved(loss *history.NodeLoss) string {
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	return inWords(f.loudest(loss.At-grace, loss.At))
}

// asked tells whether a fault had taken a node, or may have: of one that failed it is not known which nodes it touched.
func (f *facts) asked(loss history.NodeLoss) bool {
	return slices.ContainsFunc(f.faults, func(fault history.FaultLife) bool {
		return fault.Injecting.OK && fault.Injecting.At <= loss.At &&
			(slices.Contains(fault.Nodes, loss.Name) || !fault.Seen.OK || len(fault.Errors) > 0 || loss.At < fault.Seen.At)
	})
}
