package evidence

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/stages"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// UnexplainedLoss finds a node that was lost without a fault, while the machine lacked processor time, and was not back by from. Name
// empty means any node; like restricts the losses. Nil means that there is none.
func (f *Run) UnexplainedLoss(name string, from, to history.Offset, like func(*timeline.NodeLoss) bool) *timeline.NodeLoss {
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

// HadPod says whether any pod of the scenario, load workers included, was on a node when it was lost. No request led to a node
// without one.
func (f *Run) HadPod(loss *timeline.NodeLoss) bool {
	is, known := f.Noise.inhabited[loss]
	if !known {
		for _, pod := range f.Record.StateAt(loss.At).Pods {
			is = is || pod.Node == loss.Name && !pod.Ended()
		}
		f.Noise.inhabited[loss] = is
	}
	return is
}

// AnyLoss is for UnexplainedLoss: it accepts each loss.
func AnyLoss(*timeline.NodeLoss) bool { return true }

// WhyLost is the reason that a loss without a fault gives for what failed.
func (f *Run) WhyLost(loss *timeline.NodeLoss) Reason {
	why := f.Starved(loss)
	why.Words = fmt.Sprintf("%s was lost at %s without a fault, on a machine without enough processor time: %s", loss.Name, prose.Moment(loss.At), why.Words)
	return why
}

// HadWorkloadPod says whether a pod of a workload was on a node when it was lost.
func (f *Run) HadWorkloadPod(loss *timeline.NodeLoss) bool {
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

// Starved is the evidence that the machine lacked processor time when a node was lost; the zero Reason: there is none.
func (f *Run) Starved(loss *timeline.NodeLoss) Reason {
	grace := f.Record.Header.Cluster.Timings.NodeMonitorGrace
	if why := f.WhyBusy(loss.At-grace, loss.At); why.Busy && grace > 0 {
		return why
	}
	if e := f.WorstPause(loss.At-grace-restless, loss.At); e != nil {
		return Reason{Words: DescribeNoise(e)}
	}
	return Reason{}
}

// asked says whether a fault took a node, or may have: which nodes a failed fault touched is unknown. A fault that was seen in effect
// names all its nodes, those included that it took before it was seen, or has a step on each.
func (f *Run) asked(loss timeline.NodeLoss) bool {
	return slices.ContainsFunc(f.Faults, func(fault stages.FaultLife) bool {
		return fault.Injecting.OK && fault.Injecting.At <= loss.At &&
			(slices.Contains(fault.Nodes, loss.Name) || f.stepped(&fault, loss.Name) || !fault.Seen.OK || len(fault.Errors) > 0)
	})
}
