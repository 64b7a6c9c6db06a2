package evidence

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/stages"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/prose"
)

// Unasked is a node that was lost without a fault, while the machine lacked processor time.
type Unasked struct {
	timeline.NodeLoss
	Starved Reason         // why the machine lacked it
	since   history.Offset // from when on the loss explains failures
}

// Why is the reason that the loss gives for what failed.
func (u *Unasked) Why() Reason {
	why := u.Starved
	why.Words = fmt.Sprintf("%s was lost at %s without a fault, on a machine without enough processor time: %s", u.Name, prose.Moment(u.At), why.Words)
	return why
}

// unaskedLoss is a loss as an unasked one; not ok: a fault took the node, or may have, or the machine had enough processor time.
func (f *Run) unaskedLoss(loss timeline.NodeLoss) (u Unasked, ok bool) {
	grace := f.Record.Header.Cluster.Timings.NodeMonitorGrace
	u = Unasked{NodeLoss: loss, since: loss.At - grace}
	if grace > 0 {
		u.Starved = f.WhyBusy(u.since, loss.At)
	}
	if e := f.WorstPause(u.since-restless, loss.At); e != nil {
		u.since -= restless
		if !u.Starved.Busy {
			u.Starved.Words = DescribeNoise(e)
		}
	}
	return u, !u.Starved.None() && !f.asked(loss)
}

// UnexplainedLoss finds an unasked loss of a node that was not back by from. Name empty means any node; like restricts the losses. It is nil
// if no node was lost so.
func (f *Run) UnexplainedLoss(name string, from, to history.Offset, like func(*timeline.NodeLoss) bool) *Unasked {
	for i := range f.Noise.unasked {
		loss := &f.Noise.unasked[i]
		back := Never
		if loss.Back.OK {
			back = loss.Back.At + PropagationSlack
		}
		if (name == "" || loss.Name == name) && to >= loss.since && from <= back && like(&loss.NodeLoss) {
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

// asked says whether a fault took a node, or may have: which nodes a failed fault touched is unknown. A fault that was seen in effect
// names all its nodes, those included that it took before it was seen, or has a step on each.
func (f *Run) asked(loss timeline.NodeLoss) bool {
	return slices.ContainsFunc(f.Faults, func(fault stages.FaultLife) bool {
		return fault.Injecting.OK && fault.Injecting.At <= loss.At &&
			(slices.Contains(fault.Nodes, loss.Name) || f.stepped(&fault, loss.Name) || !fault.Seen.OK || len(fault.Errors) > 0)
	})
}
