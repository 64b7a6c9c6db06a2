package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// FailuresEndWithin is the promise of a lost node, without a gateway that would hide it: requests fail only from the
// moment a fault begins until the cluster must have noticed, and then only the victims' share of them, over the whole time and in
// each part of it. What fails at others, or of new connections when no endpoint has led to a victim for a while, is not theirs.
//
// Evidence: what NoFailedRequests demands; victims that answered requests before; a fault that was undone only after
// the failures had to be over, or it was the undo that ended them. Of a fault that was never seen to bite nobody knows
// what it explains: failures after it began break nothing, and leave the promise Unknown.
type FailuresEndWithin struct {
	// Lanes to judge; none means all but the control lane. Each is judged by itself.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Limit is how long after the victims died the last failing request may be sent: after their last good answer, or after the
	// fault began where that is later. Zero predicts it for a lost node from the timings of the run's cluster: see NodeLossLimit.
	Limit time.Duration `json:"limit,omitempty"`
	// Service is the one that the requests go to. Empty means the only one that had endpoints on the victims.
	Service string `json:"service,omitempty"`
}

// NodeLossLimit is the longest time from a node's death to the last request that is sent to its pods. The node
// controller dates a sign of life by when it looked, up to one period after it was given; the grace begins there; and
// that it has run out is noticed up to one period late.
//
// Source: monitorNodeHealth and tryUpdateNodeHealth in kubernetes pkg/controller/nodelifecycle
func NodeLossLimit(t history.Timings) time.Duration {
	return t.NodeMonitorPeriod + t.NodeMonitorGrace + t.NodeMonitorPeriod + PropagationSlack
}

func (p FailuresEndWithin) String() string {
	until := "until a lost node must have been noticed"
	if p.Limit > 0 {
		until = "until " + p.Limit.String() + " after a fault"
	}
	return "requests fail on " + onLanes(p.Lanes) + " only " + until + ", and no more of them than the victims' share"
}

func (p FailuresEndWithin) limit(run history.Run) time.Duration {
	return cmp.Or(p.Limit, NodeLossLimit(run.Header.Cluster.Timings))
}

func (p FailuresEndWithin) start(f *facts, t *tally) judgement {
	return &failuresEndWithin{
		promise: p, facts: f, tally: t, limit: p.limit(f.run),
		sorter: &sorter{facts: f, outages: outages(f, p.limit(f.run), p.Service), unclear: p.unclear(f), failures: newFailures(f)},
	}
}

// predicts tells whether it is known how long failures are allowed for.
func (p FailuresEndWithin) predicts(run history.Run) bool {
	return p.Limit > 0 || run.Header.Cluster.Timings.NodeMonitorGrace > 0
}

// unclear is the moment from which on nobody can tell whether a failure was allowed: a fault had begun of which it is not
// known when it bit, or for how long it may be felt.
func (p FailuresEndWithin) unclear(f *facts) history.Offset {
	from := never
	for _, fault := range f.faults {
		if !fault.Injecting.OK || !fault.Seen.OK || !p.predicts(f.run) {
			from = min(from, fault.Injecting.At) // which is zero when the beginning is not in the record
		}
	}
	return from
}

type failuresEndWithin struct {
	promise FailuresEndWithin
	facts   *facts
	tally   *tally
	limit   time.Duration
	sorter  *sorter
}

func (j *failuresEndWithin) judges(lane history.Lane) bool {
	if len(j.promise.Lanes) == 0 {
		return lane != history.LaneControl
	}
	return slices.Contains(j.promise.Lanes, lane)
}

func (j *failuresEndWithin) take(r *history.Request) {
	failed := r.Outcome.Failed()
	if r.Lane == history.LaneControl && failed {
		j.sorter.failures.addNoise(r)
	}
	if r.Outcome == history.Unsent {
		return
	}
	if !failed { // on whatever lane: it tells who was alive
		for _, o := range j.sorter.outages {
			o.answered(r)
		}
	}
	if !j.judges(r.Lane) {
		return
	}
	if failed {
		j.sorter.failures.add(r)
	}
	for _, o := range j.sorter.outages {
		if r.Done >= o.from && r.Sent < o.to {
			o.count(r, failed)
			return
		}
	}
}

func (j *failuresEndWithin) end() Verdict {
	lanes := j.tally.judged(j.promise.Lanes)
	disrupted := j.facts.disruptions()
	sorted := j.sorter.sort()
	d := slices.Concat(j.facts.inOrder(j.facts.steady()), j.facts.faultsBit(true), j.facts.disrupted(disrupted),
		j.tally.delivered(lanes), j.tally.reached(lanes))
	if !j.promise.predicts(j.facts.run) {
		d.add("the record does not say how soon its cluster notices a lost node")
	}
	for _, o := range j.sorter.outages {
		d = append(d, o.allDoubts(j.sorter.failures.total > 0)...)
	}
	v := Verdict{}
	j.tally.numbers(&v, lanes)
	j.tally.victimNumbers(&v, lanes)
	v.measure("failed", float64(j.sorter.failures.total))
	v.measure("failedOutside", float64(sorted.outside.total))
	v.measure("limitSeconds", j.limit.Seconds())
	disrupted.numbers(&v)
	shares := j.sorter.shares(&v, lanes)
	excess := sorted.tooMany(shares)
	sorted.noise.numbers(&v)
	d = slices.Concat(sorted.noise.doubt(nil, j.sorter.failures.total), d, sorted.doubts)
	v.measure(doubtsNumber, float64(len(d)))
	switch {
	case sorted.outside.total > 0:
		return j.endedLate(v, sorted.outside, lanes, d)
	case sorted.innocent.total > 0:
		return j.hitOthers(v, sorted.innocent, lanes, d)
	case sorted.stray.total > 0:
		return j.strayed(v, sorted.stray, lanes, d)
	case excess != nil:
		v.At = excess.first
		sorted.inside.attributed().numbers(&v)
		sorted.inside.sinceFault(&v, sorted.lanesBeyond(shares))
		v.support(sorted.inside.evidence(j.tally, lanes)...)
		return v.violated(d, "more than the victims' share failed: %s", excess)
	}
	if s := atOnce(shares); s != nil {
		v.At = s.burst.from
		sorted.inside.attributed().numbers(&v)
		v.support(sorted.inside.evidence(j.tally, lanes)...)
		return v.violated(d, "more than the victims' share failed at once: %s on %s; %s, which with sampling error allows %d",
			s.burst, s.lane, s.outage.words, s.burst.most)
	}
	return j.held(v, lanes, sorted.inside, shares, disrupted, d)
}

func (j *failuresEndWithin) held(v Verdict, lanes []history.Lane, inside *failures, shares []share, disrupted disruptions, d doubts) Verdict {
	v.support(j.tally.victimLines(lanes)...)
	if len(shares) == 0 { // or the doubts say why failures have none
		return v.held(d, "no request failed, though victims had answered before, through %s; failures had to end within %s; %s",
			disrupted, moment(j.limit), j.tally.seen(lanes))
	}
	for _, s := range shares {
		v.support(s.String())
	}
	causes := inside.attributed()
	causes.numbers(&v)
	v.support(causes.evidence(inside.shots.lives)...)
	worst := shares[0]
	for _, s := range shares {
		if s.measured > worst.measured {
			worst = s
		}
	}
	var untested string
	for _, s := range shares {
		if s.failed > 0 && !s.tested() && s.lane != worst.lane {
			untested += fmt.Sprintf("; on %s too few opened a connection to test the share", s.lane)
		}
	}
	return v.held(d, "%s%s; the last was sent %s after %s, and %s was predicted at most; %s",
		worst, untested, moment(worst.measured), worst.since.since(), moment(j.limit), j.tally.seen(lanes))
}

func (j *failuresEndWithin) endedLate(v Verdict, outside *failures, lanes []history.Lane, d doubts) Verdict {
	first := outside.breaks(&v, j.tally, lanes)
	where := "before any fault began"
	for _, o := range j.sorter.outages {
		if first.Done >= o.from {
			since := o.before(first.Sent)
			where = fmt.Sprintf("%s after %s, and %s was predicted at most",
				moment(first.Sent-since.earliest()), since.since(), moment(j.limit))
		}
	}
	return v.violated(d, "%s failed outside the predicted time, the first at %s on %s: %s, %s",
		count(outside.total, "request"), moment(first.Sent), first.Lane, first.Outcome, where)
}

func (j *failuresEndWithin) hitOthers(v Verdict, innocent *failures, lanes []history.Lane, d doubts) Verdict {
	first := innocent.breaks(&v, j.tally, lanes)
	return v.violated(d, "%s failed at pods that no fault had bitten, the first at %s on %s: %s, %s",
		count(innocent.total, "request"), moment(first.Sent), first.Lane, first.Outcome, kindOf(first).server())
}

func (j *failuresEndWithin) strayed(v Verdict, stray *failures, lanes []history.Lane, d doubts) Verdict {
	first := stray.breaks(&v, j.tally, lanes)
	return v.violated(d, "%s failed when no endpoint had led to a victim for %s, the first at %s on %s: %s",
		count(stray.total, "request"), PropagationSlack, moment(first.Sent), first.Lane, first.Outcome)
}
