package budget

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// PodLife is what the watch said of a pod, in order.
type PodLife struct {
	history.Pod // as it was last
	points      []podPoint
}

type podPoint struct {
	at              history.Offset
	ready, deleting bool
	running         bool   // its phase; of a pod in another the API asks no budget
	disruption      string // why it goes
}

// FollowPods follows every pod through a run, in the order in which they were first seen.
func FollowPods(run history.Run) (lives []*PodLife) {
	byUID := make(map[string]*PodLife)
	for _, e := range run.Events {
		if e.Pod == nil {
			continue
		}
		life := byUID[e.Pod.UID]
		if life == nil {
			life = &PodLife{}
			byUID[e.Pod.UID] = life
			lives = append(lives, life)
		}
		life.Pod = *e.Pod
		gone := e.Pod.Change == history.Deleted
		life.points = append(life.points, podPoint{
			at: e.T, ready: e.Pod.Ready && !gone, deleting: e.Pod.Deleting || gone, running: e.Pod.Phase == "Running" && !gone,
			disruption: e.Pod.Disruption,
		})
	}
	return lives
}

// MayBeHealthy tells whether the pod was ready and not going at some moment from from to to.
func (l *PodLife) MayBeHealthy(from, to history.Offset) bool {
	return l.some(from, to, func(p podPoint) bool { return p.ready && !p.deleting })
}

// surelyReady tells whether the pod was there and not going before from, and ready all the time until to, when it was
// evicted and so began to go.
func (l *PodLife) surelyReady(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.ready }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// surelyUnready tells whether the pod was there, running and not going before from, and not ready all the time until to.
func (l *PodLife) surelyUnready(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.deleting && (p.ready || !p.running) }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// surelyRunning tells whether the pod was there, running and not going before from, and ran until to.
func (l *PodLife) surelyRunning(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.deleting && !p.running }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// some tells whether one of the pod's states from from to to is like that.
func (l *PodLife) some(from, to history.Offset, like func(podPoint) bool) bool {
	for i, p := range l.points {
		over := i+1 < len(l.points) && l.points[i+1].at <= from
		if p.at <= to && !over && like(p) {
			return true
		}
	}
	return false
}

// healthyBefore tells whether the pod was ready and not going right before at, as its watch told, or may have been: it was at
// some time since from, or became so at that very moment, of which the order is not known.
func (l *PodLife) healthyBefore(from, at history.Offset) (healthy evidence.Presence) {
	for i, p := range l.points {
		is := p.ready && !p.deleting
		switch next := i+1 < len(l.points); {
		case p.at > at:
			return healthy
		case p.at == at:
			if is && healthy == evidence.No {
				healthy = evidence.Maybe
			}
		case next && l.points[i+1].at <= from && l.points[i+1].at < at: // it was over by then
		case next && l.points[i+1].at < at && is:
			healthy = evidence.Maybe
		case next && l.points[i+1].at < at:
		case is:
			healthy = evidence.Sure
		}
	}
	return healthy
}

// wentReady tells whether the pod began to go from from to to, and was told to be ready until then. The eviction API deletes a
// pod that it took for not ready only as long as nothing about it has changed.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go, which sets the resource version as a precondition
func (l *PodLife) wentReady(from, to history.Offset) bool {
	gone, ok := l.goes()
	return ok && gone.at >= from && gone.at <= to && l.healthyBefore(gone.at, gone.at) == evidence.Sure
}

// goes is when the pod began to go.
func (l *PodLife) goes() (p podPoint, ok bool) {
	i := slices.IndexFunc(l.points, func(p podPoint) bool { return p.deleting })
	if i < 0 {
		return p, false
	}
	return l.points[i], true
}
