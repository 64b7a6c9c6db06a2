package failures

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Excused are failures that say nothing of the system under test: see evidence.Run.Excuse. So do requests that were never answered while the
// control lane failed about as often, if nothing else is known of them.
type Excused struct {
	Total uint64
	by    map[evidence.Reason]uint64
}

// Blamed separates the excused failures from those of the system under test. Call it after all requests were read.
func (l *Failures) Blamed() (rest *Failures, x Excused) {
	rest = l.None()
	noisy := l.Noisy()
	l.Groups.Each(func(kind attribution.FailureGroup, at history.Offset, like attribution.SimilarFailures, a attribution.Attribution) {
		if why := Excuse(kind, at, a, noisy); !why.None() {
			x.Add(like.N, why)
			return
		}
		rest.AddSimilar(like)
	})
	if x.Total == 0 {
		return l, x
	}
	return rest, x
}

// rarely is how unlikely it must be that a lane failed as often as it did, had it failed twice as often as the control lane: so few requests of that
// lane tell no more precisely how often.
const rarely = 0.001

// Noisy are the seconds in which the control lane failed, which leads to no system under test. Where another lane failed far more often, one failure of
// the control lane does not tell why.
func (l *Failures) Noisy() map[history.Offset]bool {
	rates := make(map[history.Lane]float64)
	if plan := l.facts.Record.Header.Plan; plan != nil {
		for _, lane := range plan.Lanes {
			rates[lane.Lane] = lane.RatePerSecond
		}
	}
	noisy := make(map[history.Offset]bool)
	for second := range l.noisy {
		noisy[second] = true
		share := 2 * float64(l.control[second]) / rates[history.LaneControl]
		for lane, n := range l.failing[second] {
			if rate := rates[lane]; rate > 0 && share < 1 && n > stats.MostOf(max(n, uint64(rate)), share, rarely) {
				noisy[second] = false
			}
		}
	}
	return noisy
}

// Add counts n excused failures.
func (x *Excused) Add(n uint64, why evidence.Reason) {
	if x.by == nil {
		x.by = make(map[evidence.Reason]uint64)
	}
	x.Total += n
	x.by[why] += n
}

// AddAll counts what others count.
func (x *Excused) AddAll(others Excused) {
	for why, n := range others.by {
		x.Add(n, why)
	}
}

// mostly is the reason for most of them. One that is the application's own comes before any other.
func (x Excused) mostly() evidence.Reason {
	return slices.MaxFunc(slices.Collect(maps.Keys(x.by)), func(a, b evidence.Reason) int {
		if a.Own != b.Own && a.Own {
			return 1
		} else if a.Own != b.Own {
			return -1
		}
		return cmp.Or(cmp.Compare(x.by[a], x.by[b]), cmp.Compare(b.Words, a.Words))
	})
}

// Excuse is why failures say nothing of the system under test; the zero Reason: they do.
func Excuse(kind attribution.FailureGroup, at history.Offset, a attribution.Attribution, noisy map[history.Offset]bool) evidence.Reason {
	if !kind.Why.None() || a.OfSystem() || !evidence.Unanswered(kind.Outcome) && !evidence.Slow(kind.Outcome) {
		return kind.Why
	}
	for second := at / evidence.LoadWindow; second <= at/evidence.LoadWindow+history.Offset(kind.Lasted); second++ {
		if noisy[second] {
			return evidence.Reason{Words: "may be the harness's own noise: the control lane, which leads to no system under test, failed too"}
		}
	}
	return evidence.Reason{}
}

// Doubt puts the number of excused failures, and the reason, before other missing evidence.
func (x Excused) Doubt(d verdict.Missing, all uint64) verdict.Missing {
	if x.Total == 0 {
		return d
	}
	return append(verdict.Missing{fmt.Sprintf("%d of %s %s", x.Total, prose.Count(all, "failure"), x.mostly().Words)}, d...)
}

// Numbers adds the number of excused failures, if there are any.
func (x Excused) Numbers(v *verdict.Verdict) {
	if x.Total > 0 {
		v.Measure("excused", float64(x.Total))
	}
}

// RunAgain adds the numbers of those that a saturated machine explains, by which a second run is made or not.
func (x Excused) RunAgain(v *verdict.Verdict) {
	for why, n := range x.by {
		why.Count(v, n)
	}
}
