package evidence

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// restless is how much longer than the node controller's grace period before a loss the kubelet may have been kept from renewing its lease.
const restless = 5 * time.Second

// unasked is a node that was lost without a fault.
type unasked struct {
	timeline.NodeLoss
	since history.Offset // from when on it may have been gone
	why   Reason         // the machine was saturated before; None: it was not
}

// addLosses finds the nodes that were lost although no fault had taken them: the cluster failed, and not the workload. Such a loss explains what
// happens from when the node may have been gone until it is back. In a recording, where a loss is what is judged, it must have been the machine's.
func (f *Run) addLosses() {
	var found []saturation
	for _, loss := range f.Timeline().NodeLosses(f.Begin(), f.End()) {
		since := loss.At - f.Record.Header.Cluster.Timings.NodeMonitorGrace
		why := f.Saturation(since-restless, loss.At)
		if f.asked(loss) || f.Record.Header.Recorded != nil && why.None() {
			continue
		}
		f.Noise.unasked = append(f.Noise.unasked, unasked{loss, since, why})
		if f.hadPod(&loss) {
			found = append(found, saturation{from: since, to: back(&loss), Reason: Reason{
				Words: fmt.Sprintf("may come from a lost node: %s was lost at %s without a fault", loss.Name, prose.Moment(loss.At)), Again: true,
			}})
		}
	}
	f.Noise.saturated = append(f.Noise.saturated, found...)
}

// back is when a lost node was usable again.
func back(loss *timeline.NodeLoss) history.Offset {
	if loss.Back.OK {
		return loss.Back.At + PropagationSlack
	}
	return Never
}

// Moved finds a node with a pod of a workload that was lost until a moment without a fault, so that the pods may have had to move; nil: none
// was. Unless any counts, the machine must have been saturated, which is why, in parentheses.
func (f *Run) Moved(until history.Offset, anyLoss bool) (loss *timeline.NodeLoss, why string) {
	for i := range f.Noise.unasked {
		u := &f.Noise.unasked[i]
		if u.since > until || !anyLoss && u.why.None() || !f.hadWorkloadPod(&u.NodeLoss) {
			continue
		}
		if !u.why.None() {
			why = " (it " + u.why.Words + ")"
		}
		return &u.NodeLoss, why
	}
	return nil, ""
}

// A simulated node has this label. Its pods answer no request.
const (
	roleLabel = "holdfast.dev/role"
	simulated = "simulated"
)

// hadPod says whether any pod of the scenario, load workers included, was on a node when it was lost. No request led to a node without one.
func (f *Run) hadPod(loss *timeline.NodeLoss) bool {
	if loss.Labels[roleLabel] == simulated {
		return false
	}
	state := f.Record.StateAt(loss.At)
	for _, pod := range state.Pods {
		if pod.Node == loss.Name && !pod.Ended() {
			return true
		}
	}
	return false
}

// hadWorkloadPod says whether a pod of a workload was on a node when it was lost.
func (f *Run) hadWorkloadPod(loss *timeline.NodeLoss) bool {
	state := f.Record.StateAt(loss.At)
	for _, pod := range state.Pods {
		if pod.Node != loss.Name || pod.Ended() {
			continue
		}
		for _, w := range state.Workloads {
			if w.Owns(&pod) {
				return true
			}
		}
	}
	return false
}

// asked says whether a fault took a node, or may have: which nodes a failed fault touched is unknown. A fault that was seen in effect
// names all its nodes, those included that it took before it was seen, or has a step on each.
func (f *Run) asked(loss timeline.NodeLoss) bool {
	return slices.ContainsFunc(f.Faults, func(fault timeline.FaultLife) bool {
		return fault.Injecting.OK && fault.Injecting.At <= loss.At &&
			(slices.Contains(fault.Nodes, loss.Name) || f.stepped(&fault, loss.Name) || !fault.Seen.OK || len(fault.Errors) > 0)
	})
}
