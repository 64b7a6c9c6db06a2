package deploy

import (
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/timeline"
)

// pace is how far everything has come that is awaited at the same time: what is hindered may need what is on its way.
type pace struct {
	mu    sync.Mutex
	saw   map[string]string // of each object, in words
	since map[string]begun  // of each object that is hindered
	moved time.Time         // something was on its way, or became ready
}

// begun is when a hindrance was first seen, or when a container that ends again and again was last started.
type begun struct {
	what string
	at   time.Time
}

// allReady is what is seen of an object that is ready.
const allReady = "ready"

// see takes in how far an object has come, and reports whether it never becomes ready: what does not pass has lasted for a while, no pod is created
// while everything stands still, or a container has ended once more although nothing has become ready since it was started.
func (p *pace) see(object, saw string, h Hindrance) (hopeless bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.saw == nil {
		p.saw, p.since = map[string]string{}, map[string]begun{}
	}
	before, known := p.saw[object]
	now, changed := time.Now(), before != saw
	p.saw[object] = saw
	switch {
	case saw == allReady && (!known || !changed):
	case h.Why == "", changed && h.Container == "": // what crashes is ready for a moment now and then
		p.moved = now
	}
	if h.Why == "" {
		delete(p.since, object)
		return false
	}
	first, what := p.since[object], fmt.Sprint(h.Pod, h.Container, h.runs)
	if first.what != what || first.at.IsZero() {
		first = begun{what, now}
		p.since[object] = first
	}
	switch lasts := now.Sub(first.at); h.how {
	case refused:
		return min(lasts, now.Sub(p.moved)) > timeline.HopelessAfter
	case crashed:
		return lasts > StuckAfter && !first.at.Before(p.moved)
	case running:
		return false
	default:
		return lasts > StuckAfter
	}
}
