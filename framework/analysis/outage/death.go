package outage

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// unsureAtMost is how exactly it has to be known when the victims of a fault died. Two witnesses that look at once see a
// machine dead within some seconds, also on a machine of two busy cores: 3 s is the longest that was seen.
const unsureAtMost = 5 * time.Second

// death is what a record shows of when the victims of one fault died. The witness that saw the fault bite looked at some time
// afterwards, so it is no beginning to count from: what answers is alive, and what lets a client down is not.
type death struct {
	name        string
	from, seen  history.Offset // the fault's beginning, and its witness
	healing     history.Moment
	nodes, pods []string

	answered history.Moment // when the last good answer of a victim ended, of those between from and seen
	failed   history.Moment // when a victim let a client down after that, for the first time
}

// bit tells whether a pod, or the node that it is on, was a victim. Where the fault bit nodes, a pod of a victim's name on
// another node is its successor.
func (d *death) bit(p attribution.PodOn) bool {
	if p.Node != "" && len(d.nodes) > 0 {
		return slices.Contains(d.nodes, p.Node)
	}
	return p.Pod != "" && slices.Contains(d.pods, p.Pod) || p.Node != "" && slices.Contains(d.nodes, p.Node)
}

// hear takes a request that was answered well.
func (d *death) hear(r *history.Request) {
	if r.Done >= d.from && r.Done <= d.seen && r.Done > d.answered.At && !r.Inferred && d.bit(attribution.PodOn{Pod: r.Pod, Node: r.Node}) {
		d.answered = history.Moment{At: r.Done, OK: true}
	}
}

// letDown takes a request that a victim is known to have failed. Who waits in vain was sent to the dead; any other failure is
// told the moment it happens.
func (d *death) letDown(r *history.Request) {
	at := r.Done
	if evidence.Unanswered(r.Outcome) {
		at = r.Sent
	}
	if at >= d.Earliest() && (!d.failed.OK || at < d.failed.At) {
		d.failed = history.Moment{At: at, OK: true}
	}
}

// Earliest is when the victims may have died.
func (d *death) Earliest() history.Offset { return max(d.from, d.answered.At) }

// latest is when they were dead at the latest.
func (d *death) latest() history.Offset {
	at := max(d.seen, d.Earliest())
	if d.failed.OK {
		at = min(at, d.failed.At)
	}
	return at
}

// Since says what earliest is.
func (d *death) Since() string {
	if d.answered.OK {
		return "the victims of " + d.name + " had last answered"
	}
	return d.name + " began"
}
