package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// podLife is what the watch said of a pod, in order.
type podLife struct {
	history.Pod // as it was last
	points      []podPoint
}

type podPoint struct {
	at              history.Offset
	n               int // of its event in the record: what one watch told is in the order in which it happened
	ready, deleting bool
	running         bool   // its phase; of a pod in another the API asks no budget
	disruption      string // why it goes
}

// followPods follows every pod through a run, in the order in which they were first seen.
func followPods(run history.Run) (lives []*podLife) {
	byUID := make(map[string]*podLife)
	for n, e := range run.Events {
		if e.Pod == nil {
			continue
		}
		life := byUID[e.Pod.UID]
		if life == nil {
			life = &podLife{}
			byUID[e.Pod.UID] = life
			lives = append(lives, life)
		}
		life.Pod = *e.Pod
		gone := e.Pod.Change == history.Deleted
		life.points = append(life.points, podPoint{
			at: e.T, n: n, ready: e.Pod.Ready && !gone, deleting: e.Pod.Deleting || gone, running: e.Pod.Phase == "Running" && !gone,
			disruption: e.Pod.Disruption,
		})
	}
	return lives
}

// mayBeHealthy tells whether the pod was ready and not going at some moment from from to to.
func (l *podLife) mayBeHealthy(from, to history.Offset) bool {
	return l.some(from, to, func(p podPoint) bool { return p.ready && !p.deleting })
}

// surelyReady tells whether the pod was there and not going before from, and ready all the time until to, when it was
// evicted and so began to go.
func (l *podLife) surelyReady(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.ready }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// surelyUnready tells whether the pod was there, running and not going before from, and not ready all the time until to.
func (l *podLife) surelyUnready(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.deleting && (p.ready || !p.running) }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// surelyRunning tells whether the pod was there, running and not going before from, and ran until to.
func (l *podLife) surelyRunning(from, to history.Offset) bool {
	return l.points[0].at <= from && !l.some(from, to, func(p podPoint) bool { return !p.deleting && !p.running }) &&
		!l.some(from, from, func(p podPoint) bool { return p.deleting })
}

// some tells whether one of the pod's states from from to to is like that.
func (l *podLife) some(from, to history.Offset, like func(podPoint) bool) bool {
	for i, p := range l.points {
		over := i+1 < len(l.points) && l.points[i+1].at <= from
		if p.at <= to && !over && like(p) {
			return true
		}
	}
	return false
}

// before is the pod as it was told from from until just before another event of the same watch.
func (l *podLife) before(from history.Offset, n int) (healthy presence) {
	for i, p := range l.points {
		if p.n >= n {
			break
		}
		last := i+1 == len(l.points) || l.points[i+1].n >= n
		over := !last && l.points[i+1].at <= from
		switch is := p.ready && !p.deleting; {
		case is && last:
			healthy = sure
		case is && !over:
			healthy = maybe
		case last:
			healthy = min(healthy, maybe)
		}
	}
	return healthy
}

// wentReady tells whether the pod began to go from from to to, and was told to be ready until then. The eviction API deletes a
// pod that it took for not ready only as long as nothing about it has changed.
//
// Source: Create in kubernetes pkg/registry/core/pod/storage/eviction.go, which sets the resource version as a precondition
func (l *podLife) wentReady(from, to history.Offset) bool {
	gone, ok := l.goes()
	return ok && gone.at >= from && gone.at <= to && l.before(gone.at, gone.n) == sure
}

// goes is when the pod began to go.
func (l *podLife) goes() (p podPoint, ok bool) {
	i := slices.IndexFunc(l.points, func(p podPoint) bool { return p.deleting })
	if i < 0 {
		return p, false
	}
	return l.points[i], true
}
