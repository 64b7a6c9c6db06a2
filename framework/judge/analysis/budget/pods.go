package budget

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// MayBeHealthy reports whether the pod was healthy at some moment from from to to.
func MayBeHealthy(p *timeline.Pod, from, to history.Offset) bool {
	return p.Reports.Any(from, to, timeline.Healthy)
}

// surelyReady reports whether the pod existed and was not terminating before from, and was ready until to, when it was evicted.
func surelyReady(p *timeline.Pod, from, to history.Offset) bool {
	return p.Seen() <= from && !p.Reports.Any(from, to, func(p *history.Pod) bool { return !p.Ready || p.Change == history.Deleted }) &&
		!p.Reports.Any(from, from, timeline.Terminating)
}

// surelyUnready reports whether the pod existed, ran and was not terminating before from, and was unready until to.
func surelyUnready(p *timeline.Pod, from, to history.Offset) bool {
	return p.Seen() <= from && !p.Reports.Any(from, to, func(p *history.Pod) bool { return !timeline.Terminating(p) && (p.Ready || !running(p)) }) &&
		!p.Reports.Any(from, from, timeline.Terminating)
}

// surelyRunning reports whether the pod existed, ran and was not terminating before from, and ran until to.
func surelyRunning(p *timeline.Pod, from, to history.Offset) bool {
	return p.Seen() <= from && !p.Reports.Any(from, to, func(p *history.Pod) bool { return !timeline.Terminating(p) && !running(p) }) &&
		!p.Reports.Any(from, from, timeline.Terminating)
}

// running reports whether a pod is in phase Running. The API evicts pods in any other phase without asking a budget.
//
// Source: canIgnorePDB in kubernetes pkg/registry/core/pod/storage/eviction.go
func running(p *history.Pod) bool { return p.Phase == "Running" }

// healthyBefore reports whether the pod was healthy right before a moment, according to the order of its reports. It may have
// been if it was healthy at some time since from, or became so at that very moment, because the order within a moment is
// unknown.
func healthyBefore(p *timeline.Pod, from, at history.Offset) (healthy evidence.Presence) {
	for i, point := range p.Reports {
		is, over := timeline.Healthy(point.Value), i+1 < len(p.Reports) && p.Reports[i+1].At < at
		switch {
		case point.At > at:
			return healthy
		case point.At == at:
			if is && healthy == evidence.No {
				healthy = evidence.Maybe
			}
		case over && p.Reports[i+1].At <= from: // it was over by then
		case over && is:
			healthy = evidence.Maybe
		case !over && is:
			healthy = evidence.Sure
		}
	}
	return healthy
}

// wentReady reports whether the pod began to terminate from from to to, and was reported ready until then. The eviction API
// deletes a pod that it considers unready only if the pod has not changed since.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go, which sets the resource version as a precondition
func wentReady(p *timeline.Pod, from, to history.Offset) bool {
	left, ok := leaves(p)
	return ok && left.At >= from && left.At <= to && healthyBefore(p, left.At, left.At) == evidence.Sure
}

// leaves is the first report in which the pod was terminating. A pod that has ended, but whose deletion was not accepted, has
// not left: only deletions are the eviction API's doing.
func leaves(p *timeline.Pod) (left timeline.Point[*history.Pod], ok bool) {
	i := slices.IndexFunc(p.Reports, func(p timeline.Point[*history.Pod]) bool { return timeline.Terminating(p.Value) })
	if i < 0 {
		return left, false
	}
	return p.Reports[i], true
}
