package disturbances

import (
	"fmt"
	"iter"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
)

// Unseen are the times in which a node with pods of some parts may have been lost, of a recording whose user must not watch nodes: all recorded pods on
// the node that were ready became unready together, and none was restarted or told to end. That is what the control plane does to the pods of a node
// that it does not hear any more. What it deletes because of a lost node shows the loss as well, if later.
func (r *Recording) Unseen(list ...*parts.Part) (all []Disturbance) {
	if !slices.ContainsFunc(r.run.Header.Recorded.NotWatched, func(n history.NotWatched) bool { return n.What == "nodes" }) {
		return nil
	}
	silent := (&facts{timings: r.run.Header.Cluster.Timings}).unnoticed(&timeline.NodeLoss{Ready: "Unknown"})
	on := make(map[string][]*timeline.Pod)
	for _, p := range timeline.New(r.run.Events).Pods {
		on[p.Node] = append(on[p.Node], p)
	}
	delete(on, "")
	for node, pods := range on {
		for _, p := range pods {
			for at := range fadings(p) {
				alone := slices.ContainsFunc(pods, func(other *timeline.Pod) bool { return !fadesToo(other, at) })
				pod := Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID, Node: node, At: at, Stayed: true}
				if !alone && slices.ContainsFunc(list, func(part *parts.Part) bool { return r.has(part, pod) }) {
					all = append(all, Disturbance{
						Kind: NodeLost, Name: "the loss of node " + node, Words: fmt.Sprintf("all pods on node %s became unready together", node),
						From: max(0, at-silent), Seen: at, Over: at + evidence.PropagationSlack, Told: at, Pods: []Pod{pod},
					})
				}
			}
		}
	}
	for _, d := range r.All {
		if d.Kind == NodeLost && len(d.Nodes) == 0 && r.Touches(&d, list...) {
			d.From, d.Over = max(0, d.From-silent-afterwards), max(d.Seen, d.Over)+evidence.PropagationSlack
			all = append(all, d)
		}
	}
	return sorted(all)
}

// fadings are the moments at which a ready pod was reported as unready, and as neither ending nor restarted, while its kubelet reported nothing: it does of
// each readiness probe that fails.
func fadings(p *timeline.Pod) iter.Seq[history.Offset] {
	return func(yield func(history.Offset) bool) {
		for i := 1; i < len(p.Reports); i++ {
			was, is := p.Reports[i-1].Value, p.Reports[i].Value
			faded := timeline.Healthy(was) && !is.Ready && !timeline.Terminating(is) && !is.Ended() && is.Restarts == was.Restarts
			at := p.Reports[i].At
			heard := func(said history.Offset) bool {
				return said >= at-evidence.PropagationSlack && said <= at+evidence.WatchSkew
			}
			if faded && !slices.ContainsFunc(p.Kubelet, heard) && !yield(at) {
				return
			}
		}
	}
}

// fadesToo says whether a pod became unready at a moment as well, or had not been ready.
func fadesToo(p *timeline.Pod, at history.Offset) bool {
	if before, known := p.Reports.At(at - evidence.WatchSkew); !known || !timeline.Healthy(before) || before.Ended() {
		return true
	}
	for other := range fadings(p) {
		if (other - at).Abs() <= evidence.WatchSkew {
			return true
		}
	}
	return false
}
