package requests

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// The numbers by which a mutant of the harness is judged: how many doubts there are, how many of them a starved load worker
// explains, and how many failures its noise does.
const (
	DoubtsNumber  = "doubts"
	StarvedNumber = "doubtsOfAStarvedWorker"
	ExcusedNumber = "failedByNoise"
)

// Starved are those among the doubts of delivered that a load worker explains which was kept from running: it sent too little, or
// was too slow to say what time it is. That rows or totals are missing is none of them.
func (t *Stats) Starved(lanes []history.Lane) (d verdict.Missing) {
	for _, lane := range lanes {
		if t.Find(lane) == nil {
			continue
		}
		t.enough(lane, &d)
		if b := t.blind(lane); b.watched > 0 && !b.uncounted {
			d = append(d, b.doubts()...)
		}
	}
	if t.Find(history.LaneControl) != nil && !slices.Contains(lanes, history.LaneControl) {
		t.steady(history.LaneControl, &d)
	}
	var known []string // to the record's clock
	for _, e := range t.facts.Record.Events {
		if e.Clock != nil {
			known = append(known, e.Clock.Worker)
		}
	}
	slices.Sort(known)
	for _, w := range t.workers {
		if slices.Contains(known, w.name) {
			d = append(d, t.facts.Clocks([]string{w.name})...)
		}
	}
	return d
}

// StarvedBy is the loudest sample of a load worker that its own quota kept from running while load flowed; nil if there is none.
func StarvedBy(f *evidence.Run) (worst *history.Event) {
	from, to := f.UnderLoad()
	for _, e := range f.Record.Events {
		if e.Load == nil {
			continue
		}
		for i := range f.Noise.Of[e.Load.Worker] {
			s := &f.Noise.Of[e.Load.Worker][i]
			if s.Noise.Throttled > 0 && s.T >= from && s.Noise.Since < to && (worst == nil || evidence.Louder(s, worst)) {
				worst = s
			}
		}
	}
	return worst
}
