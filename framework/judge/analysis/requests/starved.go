package requests

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Numbers by which a mutant of the harness is judged: how much evidence is missing, how much of that a starved load worker
// explains, and how many failures noise explains.
const (
	DoubtsNumber  = "doubts"
	StarvedNumber = "doubtsOfAStarvedWorker"
	ExcusedNumber = "failedByNoise"
)

// Starved is the part of what Delivered reports that a load worker without enough processor time explains: it sent too few
// requests, also just before a fault took a victim, or its clock could not be compared well. Missing rows and totals are not part of it.
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
	d = append(d, t.reached(lanes, t.unsent)...)
	var known []string // workers whose clocks were compared
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

// StarvedBy is the sample with the longest pause of a load worker that its CPU quota throttled under load; nil: there is none.
func StarvedBy(f *evidence.Run) (worst *history.Event) {
	from, to := f.UnderLoad()
	for _, e := range f.Record.Events {
		if e.Load == nil {
			continue
		}
		for i := range f.Noise.Of[e.Load.Worker] {
			s := &f.Noise.Of[e.Load.Worker][i]
			if s.Noise.Throttled > 0 && s.T >= from && s.Noise.Since < to && (worst == nil || evidence.LongerPause(s, worst)) {
				worst = s
			}
		}
	}
	return worst
}
