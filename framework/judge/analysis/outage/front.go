package outage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// onlyFront is the front that the lanes, of which none means all, pass, if the victims had endpoints of several of its Services, and of no other; nil: there is none.
func (o *Outage) onlyFront(f *evidence.Run, services []string, lanes []history.Lane) (front *history.Front) {
	if f.Record.Header.Plan == nil || len(services) < 2 {
		return nil
	}
	for _, lane := range f.Record.Header.Plan.Lanes {
		if lane.Lane == history.LaneControl || len(lanes) > 0 && !slices.Contains(lanes, lane.Lane) {
			continue
		}
		if lane.Front == nil || front != nil && lane.Front.Name != front.Name {
			return nil
		}
		front = lane.Front
	}
	if front == nil || slices.ContainsFunc(services, func(s string) bool {
		return !slices.Contains(front.Entries, s) && !slices.Contains(front.Backends, s)
	}) {
		return nil
	}
	return front
}

// throughFront finds the share of the requests that met a victim on their way: each chooses a pod of the front, and the front chooses one
// behind it. Of several Services on the same side, the one with the larger share counts, since nothing says which was used.
func (o *Outage) throughFront(front *history.Front, names []string, counts map[string]ends) {
	through := func(side []string) (missed float64, words []string) {
		missed = 1
		for _, name := range names {
			if c := counts[name]; slices.Contains(side, name) {
				missed = min(missed, 1-c.share())
				words = append(words, fmt.Sprintf("%d of %s of %s", c.victims(), prose.Count(c.all, "endpoint"), name))
			}
		}
		return missed, words
	}
	entries, before := through(front.Entries)
	backends, behind := through(front.Backends)
	o.share = 1 - entries*backends
	o.Words = fmt.Sprintf("the victims had %s, so that %s of the requests through %s met one of them, if each pod is chosen by itself",
		strings.Join(slices.Concat(before, behind), " and "), prose.Percent(o.share), front.Name)
}
