package invariant

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// The numbers by which a mutant of the harness is judged: how many doubts there are, how many of them a starved load worker
// explains, and how many failures its noise does.
const (
	doubtsNumber  = "doubts"
	starvedNumber = "doubtsOfAStarvedWorker"
	excusedNumber = "failedByNoise"
)

// starved are those among the doubts of delivered that a load worker explains which was kept from running: it sent too little, or
// was too slow to say what time it is. That rows or totals are missing is none of them.
func (t *tally) starved(lanes []history.Lane) (d doubts) {
	for _, lane := range lanes {
		if t.find(lane) == nil {
			continue
		}
		t.enough(lane, &d)
		if b := t.blind(lane); b.watched > 0 && !b.uncounted {
			d = append(d, b.doubts()...)
		}
	}
	if t.find(history.LaneControl) != nil && !slices.Contains(lanes, history.LaneControl) {
		t.steady(history.LaneControl, &d)
	}
	var known []string // to the record's clock
	for _, e := range t.facts.run.Events {
		if e.Clock != nil {
			known = append(known, e.Clock.Worker)
		}
	}
	slices.Sort(known)
	for _, w := range t.workers {
		if slices.Contains(known, w.name) {
			d = append(d, t.facts.clocks([]string{w.name})...)
		}
	}
	return d
}

// starvedBy is the loudest sample of a load worker that its own quota kept from running while load flowed; nil if there is none.
func (f *facts) starvedBy() (worst *history.Event) {
	from, to := f.underLoad()
	for _, e := range f.run.Events {
		if e.Load == nil {
			continue
		}
		for i := range f.noise.of[e.Load.Worker] {
			s := &f.noise.of[e.Load.Worker][i]
			if s.Noise.Throttled > 0 && s.T >= from && s.Noise.Since < to && (worst == nil || louder(s, worst)) {
				worst = s
			}
		}
	}
	return worst
}
