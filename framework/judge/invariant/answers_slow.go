package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// slow is an answer, or the 99th percentile of a lane's answers, that took longer than allowed.
type slow struct {
	lane   history.Lane
	what   string
	took   time.Duration
	steady time.Duration   // the same before the first fault began
	limit  time.Duration   // the allowed increase
	at     history.Offset  // when the request of the slowest answer was sent
	noise  string          // why the workload may not be the cause; empty: it is
	why    evidence.Reason // the machine was saturated
}

const ownNoise = "it may be the harness's own noise: "

func (s slow) String() string {
	text := fmt.Sprintf("%s on %s took %s; before the first fault began it was %s, and %s more is allowed",
		s.what, s.lane, prose.Moment(s.took), prose.Moment(s.steady), prose.Moment(s.limit))
	if s.noise != "" {
		text += "; " + s.noise
	}
	return text
}

// slowOf are the answers of a lane that took too long, the slowest first; those that noise explains come last.
func (j *answersWithin) slowOf(a *laneWaits) (all []slow) {
	all = append(j.slowAnswers(a), j.slowPercentiles(a)...)
	slices.SortStableFunc(all, func(x, y slow) int {
		return cmp.Or(cmp.Compare(min(1, len(x.noise)), min(1, len(y.noise))), cmp.Compare(y.took, x.took))
	})
	return all
}

// slowAnswers are the slowest answer that took too long, and the slowest of those that noise explains.
func (j *answersWithin) slowAnswers(a *laneWaits) []slow {
	var worst, noisy slow
	limit := j.promise.slowest()
	for i := range a.slots {
		slot := &a.slots[i]
		s := slow{lane: a.lane, what: "the slowest answer", took: slot.took, steady: a.steady.sent.Max, limit: limit, at: slot.at}
		if slot.took <= s.steady+limit && slot.due <= a.steady.due.Max+limit {
			continue
		}
		s.why = j.excuse(slot.at, slot.at+slot.took)
		switch allowed, waited := s.steady+limit, j.waited(a.lane, slot.at, slot.at+slot.took); {
		case slot.took > allowed+waited && !s.why.None():
			s.noise = "it " + s.why.Words
		case slot.took > allowed+waited:
			if s.took > worst.took {
				worst = s
			}
			continue
		case slot.took > allowed:
			s.noise = ownNoise + "the control lane, which leads to no system under test, waited " + prose.Moment(waited) + " longer at that moment"
		default:
			s.took, s.steady, s.why = slot.due, a.steady.due.Max, evidence.Reason{}
			s.noise = ownNoise + "counted from when it was due, and it was sent late"
		}
		if s.took > noisy.took {
			noisy = s
		}
	}
	return slices.DeleteFunc([]slow{worst, noisy}, func(s slow) bool { return s.took == 0 })
}

// excuse is why a slow answer says nothing of the workload.
func (j *answersWithin) excuse(from, to history.Offset) evidence.Reason {
	return j.facts.Excuse(&history.Request{Sent: from, Done: to})
}

// waited is by how much longer than before the control lane waited for an answer at a time.
func (j *answersWithin) waited(lane history.Lane, from, to history.Offset) time.Duration {
	control := j.find(history.LaneControl)
	if control == nil || lane == history.LaneControl {
		return 0
	}
	return max(0, control.during(from, to, j.slots)-control.steady.due.Max)
}

// slowPercentiles are those of phase Disturbed and of phase Recovered.
func (j *answersWithin) slowPercentiles(a *laneWaits) (all []slow) {
	steady, limit := a.steady.sent.Quantile(percentile), j.promise.p99()
	steadyDue := a.steady.due.Quantile(percentile)
	for _, phase := range []history.PhaseName{history.Disturbed, history.Recovered} {
		of := a.of(phase)
		s := slow{lane: a.lane, what: "the 99th percentile while " + string(phase), took: of.sent.Quantile(percentile), steady: steady, limit: limit, at: a.slowestAt()}
		var waited time.Duration
		if control := j.find(history.LaneControl); control != nil && a != control {
			waited = max(0, control.of(phase).due.Quantile(percentile)-control.steady.due.Quantile(percentile))
		}
		calm := of.calm.Quantile(percentile)
		switch due := of.due.Quantile(percentile); {
		case s.took > steady+limit && !j.facts.FirstFault().OK:
			s.noise = "nothing had been disturbed"
		case s.took > steady+limit+waited && calm <= steady+limit+waited:
			s.why = j.excuse(of.first, of.last)
			s.noise = fmt.Sprintf("without the answers that came while the machine was saturated, it took %s; it %s", prose.Moment(calm), s.why.Words)
		case s.took > steady+limit+waited:
		case s.took > steady+limit:
			s.noise = ownNoise + "that of the control lane, which leads to no system under test, rose by " + prose.Moment(waited)
		case due > steadyDue+limit:
			s.took, s.steady, s.noise = due, steadyDue, ownNoise+"counted from when they were due, and they were sent late"
		default:
			continue
		}
		all = append(all, s)
	}
	return all
}

// of are the answers of a phase.
func (a *laneWaits) of(phase history.PhaseName) *answerTimes {
	if phase == history.Recovered {
		return &a.recovered
	}
	return &a.disturbed
}

// slowestAt is when the request of the slowest answer was sent.
func (a *laneWaits) slowestAt() history.Offset {
	return slices.MaxFunc(a.slots, func(x, y slowest) int { return cmp.Compare(x.took, y.took) }).at
}
