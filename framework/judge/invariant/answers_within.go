package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/failures"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// AnswersWithin promises that no client waits much longer for an answer than in phase Steady: from the start of the first fault to
// the end of Recovered, on every lane, neither the slowest answer nor the 99th percentile is slower than in Steady by more than a
// limit. The percentile of each phase is judged by itself. The time of an answer counts from when its request was sent, and from
// when it was due.
//
// A violation that the harness's own slowness explains is Unknown: the answer would have come in time if its request had been sent
// when it was due, or without the time that the control lane waited at that moment. The control lane leads to no system under test.
// A violation at a time in which the machine was saturated is Unknown, too; for a percentile, if the other answers keep it. So is a slow answer
// of a record in which nothing was disturbed.
//
// Evidence: that of NoFailedRequests; at least 100 answers on each lane before the first fault began, none of which took longer
// than 750 ms, unless the system is a Foreign one; and no failed request, because the time that its answer would have taken is unknown.
type AnswersWithin struct {
	// Lanes to judge; none means all but the control lane. Each is judged by itself.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Slowest and P99 are the allowed increases of the slowest answer and of the 99th percentile. Zero means SlowestAnswer and
	// P99Answer.
	Slowest time.Duration `json:"slowest,omitempty"`
	P99     time.Duration `json:"p99,omitempty"`
	// Foreign says that how fast the system answers is its own affair, such as that of a user's application: it is compared with itself, however
	// slow it was before. What is slower than its client's time-outs fails.
	Foreign bool `json:"foreign,omitempty"`
	// Like says that no answer has a status or a length as none before the first fault had. Without it, such answers of a Foreign system are shown.
	// Where answers had many lengths before, a length proves nothing, and Like is Unknown.
	Like bool `json:"like,omitempty"`
}

const (
	// SlowestAnswer is what a client with a time-out of 3 s still receives in time. A gateway that tries two dead pods first takes
	// 1.5 s. In a run that held, beside compilers that used both cores, a pod did not answer for 1.2 s.
	SlowestAnswer = 2 * time.Second
	// P99Answer allows a gateway one try of 750 ms at a dead pod for one of a hundred requests. In runs that held, the 99th
	// percentile rose by at most 150 ms.
	P99Answer = time.Second
	// steadyAnswer bounds the time of an answer before the first fault: for a slower system, a promise to get no slower means
	// little. In runs that held it was 350 ms, of which 300 ms were requested.
	steadyAnswer = 750 * time.Millisecond

	percentile = 0.99
)

func (p AnswersWithin) slowest() time.Duration { return cmp.Or(p.Slowest, SlowestAnswer) }
func (p AnswersWithin) p99() time.Duration     { return cmp.Or(p.P99, P99Answer) }

func (p AnswersWithin) String() string {
	like := ""
	if p.Like {
		like = "; and none has a status or a length that no answer had then"
	}
	return fmt.Sprintf("the slowest answer on %s takes at most %s longer than while nothing is disturbed, and 99 of 100 at most %s longer%s",
		prose.OnLanes(p.Lanes), p.slowest(), p.p99(), like)
}

// Needs implements Invariant.
func (p AnswersWithin) Needs() evidence.Needs {
	return evidence.Needs{Watches: evidence.Ordered, Since: evidence.Undisturbed, Requests: true}
}

// OnLanes implements LaneInvariant.
func (p AnswersWithin) OnLanes() []history.Lane { return p.Lanes }

// NamesCauses implements LaneInvariant.
func (p AnswersWithin) NamesCauses() bool { return false }

// Requests implements RequestInvariant.
func (p AnswersWithin) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	j := &answersWithin{promise: p, facts: f, tally: t, slots: newSlotted(t.Watch), recovered: evidence.Never}
	if phase, ok := f.Phases[history.Recovered]; ok {
		j.recovered = phase.From
	}
	return j
}

type answersWithin struct {
	promise   AnswersWithin
	facts     *evidence.Run
	tally     *requests.Stats
	slots     slotted
	recovered history.Offset
	lanes     []*laneWaits
}

func (j *answersWithin) Take(r *history.Request) {
	control := r.Lane == history.LaneControl
	if r.Outcome == history.Unsent || !control && !Judges(j.promise.Lanes, r.Lane) {
		return
	}
	a := j.lane(r.Lane)
	if a == nil {
		return // Delivered reports it
	}
	if r.Outcome.Failed() {
		a.failed++
		if !control {
			return
		}
	}
	began := j.tally.Watch.From - j.facts.ClockError()
	if j.promise.Foreign {
		a.forms.take(r, r.Done < began, j.excuse)
	}
	switch { // what may have come later does not tell how it was before
	case r.Done < began:
		a.steady.add(r, true)
		return
	case r.Due < j.recovered:
		a.disturbed.add(r, j.calm(r))
	default:
		a.recovered.add(r, j.calm(r))
	}
	a.add(r, j.slots)
	if control {
		a.cover(r, j.slots)
	}
}

// calm reports whether an answer took no longer than is allowed in any case, or came while the machine was not busy.
func (j *answersWithin) calm(r *history.Request) bool {
	if r.Done-r.Sent <= j.promise.p99() {
		return true
	}
	return j.facts.Saturation(r.Sent, r.Done).None()
}

func (j *answersWithin) lane(name history.Lane) *laneWaits {
	if a := j.find(name); a != nil || len(j.lanes) == requests.MaxLanes {
		return a
	}
	a := &laneWaits{lane: name, slots: make([]slowest, j.slots.n)}
	j.lanes = append(j.lanes, a)
	return a
}

func (j *answersWithin) find(name history.Lane) *laneWaits {
	for _, a := range j.lanes {
		if a.lane == name {
			return a
		}
	}
	return nil
}

func (j *answersWithin) End(missing verdict.Missing) verdict.Verdict {
	lanes := j.tally.Judged(j.promise.Lanes)
	disrupted := j.facts.Disruptions()
	missing = slices.Concat(missing, j.facts.Disrupted(disrupted),
		j.tally.Delivered(lanes), j.tally.Reached(lanes))
	v := verdict.Verdict{}
	j.tally.Numbers(&v, lanes)
	j.tally.VictimNumbers(&v, lanes)
	disrupted.Numbers(&v)
	var broken, noise []slow
	for _, lane := range lanes {
		a := j.find(lane)
		if a == nil {
			continue // which Delivered reports
		}
		j.promise.numbers(&v, a)
		a.doubts(&missing, j.promise.Foreign)
		for _, s := range j.slowOf(a) {
			if s.noise == "" {
				broken = append(broken, s)
			} else {
				noise = append(noise, s)
			}
		}
	}
	for _, s := range noise {
		missing.Add("%s", s)
		s.why.Count(&v, 1)
	}
	odd := j.alike(&v, lanes, &missing)
	if len(broken) > 0 {
		return j.violated(v, lanes, broken, missing)
	}
	if odd != nil {
		v.At = odd.at
		v.Measure(failures.SinceNumber+string(odd.lane), float64(odd.n))
		j.support(&v, lanes)
		return v.Violated(missing, "%s", odd)
	}
	j.support(&v, lanes)
	v.Support(j.tally.VictimLines(lanes)...)
	return v.Held(missing, "%s, through %s; %s", j.inWords(lanes), disrupted, j.tally.Seen(lanes))
}

func (j *answersWithin) violated(v verdict.Verdict, lanes []history.Lane, broken []slow, missing verdict.Missing) verdict.Verdict {
	worst := slices.MaxFunc(broken, func(x, y slow) int { return cmp.Compare(x.took, y.took) })
	v.At = worst.at
	for _, lane := range lanes {
		v.Measure(failures.SinceNumber+string(lane), 0)
	}
	for _, s := range broken { // all since the first fault began; earlier answers are the measure
		v.Support(s.String())
		v.Numbers[failures.SinceNumber+string(s.lane)]++
	}
	if j.find(history.LaneControl) == nil {
		missing.Add("no request was sent on the control lane, which shows how slow the harness itself was")
	}
	j.support(&v, lanes)
	v.Measure(requests.DoubtsNumber, float64(len(missing)))
	return v.Violated(missing, "%s, sent at %s", worst, prose.Moment(worst.at))
}

// doubts reports a lane whose answers cannot be compared with.
func (a *laneWaits) doubts(missing *verdict.Missing, foreign bool) {
	switch n := a.steady.sent.N; {
	case n < evidence.MinRequests:
		missing.Add("%s came on %s before the first fault began; a 99th percentile needs at least %d", prose.Count(n, "answer"), a.lane, evidence.MinRequests)
	case !foreign && a.steady.sent.Max > steadyAnswer:
		missing.Add("an answer on %s took %s before the first fault began; answers slower than %s cannot be compared with",
			a.lane, prose.Moment(a.steady.sent.Max), prose.Moment(steadyAnswer))
	}
	if a.failed > 0 && a.lane != history.LaneControl {
		missing.Add("%s failed on %s, so the time that their answers would have taken is unknown", prose.Count(a.failed, "request"), a.lane)
	}
}

// since is the time that the given share of the answers since the first fault began did not exceed, in neither phase: from when
// their requests were sent, and from when they were due. For a share of 1 it is the slowest answer.
func (a *laneWaits) since(share float64) (sent, due time.Duration) {
	return max(a.disturbed.sent.Quantile(share), a.recovered.sent.Quantile(share)),
		max(a.disturbed.due.Quantile(share), a.recovered.due.Quantile(share))
}

func (p AnswersWithin) numbers(v *verdict.Verdict, a *laneWaits) {
	for name, share := range map[string]float64{"slowest": 1, "p99": percentile} {
		sent, due := a.since(share)
		more := p.p99()
		if share == 1 {
			more = p.slowest()
		}
		v.AtMost(name+"Seconds."+string(a.lane), (a.steady.sent.Quantile(share) + more).Seconds())
		v.Measure(name+"Seconds."+string(a.lane), sent.Seconds())
		v.Measure(name+"SinceDueSeconds."+string(a.lane), due.Seconds())
		v.Measure(name+"SteadySeconds."+string(a.lane), a.steady.sent.Quantile(share).Seconds())
	}
}

// support adds a line for each lane.
func (j *answersWithin) support(v *verdict.Verdict, lanes []history.Lane) {
	for _, lane := range lanes {
		if a := j.find(lane); a != nil {
			slowest, slowestDue := a.since(1)
			p99, p99Due := a.since(percentile)
			v.Support(fmt.Sprintf("%s: slowest answer %s (%s after it was due), %s before the first fault began; 99th percentile %s (%s), %s before",
				lane, prose.Moment(slowest), prose.Moment(slowestDue), prose.Moment(a.steady.sent.Max), prose.Moment(p99), prose.Moment(p99Due),
				prose.Moment(a.steady.sent.Quantile(percentile))))
		}
	}
}

// inWords describes the lane with the slowest answer, and the lane with the highest percentile.
func (j *answersWithin) inWords(lanes []history.Lane) string {
	of := func(share float64) (worst *laneWaits, took time.Duration) {
		for _, lane := range lanes {
			if a := j.find(lane); a != nil {
				if sent, _ := a.since(share); worst == nil || sent > took {
					worst, took = a, sent
				}
			}
		}
		return worst, took
	}
	a, slowest := of(1)
	b, p99 := of(percentile)
	if a == nil {
		return "no request was answered"
	}
	return fmt.Sprintf("the slowest answer took %s on %s, and %s before the first fault began; 99 of 100 took at most %s on %s, and %s before",
		prose.Moment(slowest), a.lane, prose.Moment(a.steady.sent.Max), prose.Moment(p99), b.lane, prose.Moment(b.steady.sent.Quantile(percentile)))
}
