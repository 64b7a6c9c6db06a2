package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// FailuresEndWithin is the promise of a lost node, without a gateway that would hide it: requests fail only from the
// moment a fault begins until the cluster must have noticed, and then only the victims' share of them.
//
// Evidence: what NoFailedRequests demands; victims that answered requests before; a fault that was undone only after
// the failures had to be over, or it was the undo that ended them. Of a fault that was never seen to bite nobody knows
// what it explains: failures after it began break nothing, and leave the promise Unknown.
type FailuresEndWithin struct {
	// Lanes to judge; none means all but the control lane. Each is judged by itself.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Limit is how long after a fault was seen to bite the last failing request may be sent. Zero predicts it for a lost
	// node from the timings of the run's cluster: see NodeLossLimit.
	Limit time.Duration `json:"limit,omitempty"`
	// Service is the one that the requests go to. Empty means the only one that had endpoints on the victims.
	Service string `json:"service,omitempty"`
}

// PropagationSlack is what NodeLossLimit allows from the moment the control plane marks a lost node's pods as not ready
// to the moment no proxy sends anything to them: the EndpointSlice is written, every kube-proxy waits out its minimum
// of 1 s between two syncs, and syncs. A busy machine of two cores takes 2 s; the rest is margin.
const PropagationSlack = 3 * time.Second

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

// Check implements Invariant.
func (p FailuresEndWithin) Check(run history.Run) Verdict { return CheckAll(run, []Invariant{p})[0] }

func (p FailuresEndWithin) limit(run history.Run) time.Duration {
	return cmp.Or(p.Limit, NodeLossLimit(run.Header.Cluster.Timings))
}

func (p FailuresEndWithin) start(f *facts, t *tally) judgement {
	return &failuresEndWithin{
		promise: p, facts: f, tally: t, limit: p.limit(f.run), outages: p.outages(f),
		unclear: p.unclear(f), inside: newFailures(f), outside: newFailures(f),
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
	outages []*outage
	unclear history.Offset // see there

	inside, outside *failures
	innocent        *failures // answered wrongly by pods that no fault bit; nil while there are none
}

func (j *failuresEndWithin) judges(lane history.Lane) bool {
	if len(j.promise.Lanes) == 0 {
		return lane != history.LaneControl
	}
	return slices.Contains(j.promise.Lanes, lane)
}

func (j *failuresEndWithin) take(r *history.Request) {
	if r.Lane == history.LaneControl && r.Outcome.Failed() {
		j.inside.addNoise(r)
	}
	if r.Outcome == history.Unsent || !j.judges(r.Lane) {
		return
	}
	failed := r.Outcome.Failed()
	if failed && r.Done >= j.unclear {
		j.inside.add(r) // as it may have been; the doubts are there
		return
	}
	for _, o := range j.outages {
		if !failed {
			o.answered(r)
		}
		if r.Done < o.from || r.Sent >= o.to { // what was in flight when it began is the victims' too
			continue
		}
		o.count(r, failed)
		if failed {
			j.inside.add(r)
			if answeredWrongly(r.Outcome) && r.Pod != "" && !r.Inferred && !o.bit(r.Pod, r.Node) {
				j.blame(r)
			}
		}
		return
	}
	if failed {
		j.outside.add(r)
	}
}

// answeredWrongly tells whether it was the server named in the response that let the client down. Of a retry that was
// masked, the response names the one that helped out.
func answeredWrongly(o history.Outcome) bool {
	switch o {
	case history.BadStatus, history.WrongBody, history.Truncated, history.Stall:
		return true
	}
	return false
}

func (j *failuresEndWithin) blame(r *history.Request) {
	if j.innocent == nil {
		j.innocent = newFailures(j.facts)
	}
	j.innocent.add(r)
}

func (j *failuresEndWithin) end() Verdict {
	lanes := j.tally.judged(j.promise.Lanes)
	disrupted := j.facts.disruptions()
	d := slices.Concat(j.facts.inOrder(j.facts.phases[history.Steady].From), j.facts.faultsBit(true), disrupted.doubts(),
		j.tally.delivered(lanes))
	if !j.promise.predicts(j.facts.run) {
		d.add("the record does not say how soon its cluster notices a lost node")
	}
	for _, o := range j.outages {
		d = append(d, o.doubts...)
		if !o.served {
			d.add("no request was answered by a victim of %s before it began", o.name)
		}
	}
	v := Verdict{}
	j.tally.numbers(&v, lanes)
	v.measure("failed", float64(j.inside.total+j.outside.total))
	v.measure("failedOutside", float64(j.outside.total))
	v.measure("limitSeconds", j.limit.Seconds())
	disrupted.numbers(&v)
	shares := j.shares(&v, lanes)
	noise := j.outside.excused(j.facts, j.inside.noisy)
	switch excess := tooMany(shares); {
	case noise.total > 0 && noise.total == j.outside.total && j.innocent == nil && excess == nil:
		return v.unknown(slices.Concat(doubts{noise.String(j.outside.total)}, d))
	case j.outside.total > 0:
		return j.endedLate(v, lanes, d)
	case j.innocent != nil:
		return j.hitOthers(v, lanes, d)
	case excess != nil:
		v.At = excess.first
		j.inside.attributed().numbers(&v)
		v.support(j.inside.evidence(j.tally, lanes)...)
		return v.violated(d, "more than the victims' share failed: %s", excess)
	}
	return j.held(v, lanes, shares, disrupted, d)
}

func (j *failuresEndWithin) held(v Verdict, lanes []history.Lane, shares []share, disrupted disruptions, d doubts) Verdict {
	if len(shares) == 0 { // or the doubts say why failures have none
		return v.held(d, "no request failed, though victims had answered before, through %s; failures had to end within %s; %s",
			disrupted, moment(j.limit), j.tally.seen(lanes))
	}
	for _, s := range shares {
		v.support(s.String())
	}
	causes := j.inside.attributed()
	causes.numbers(&v)
	v.support(causes.evidence(j.inside.shots.lives)...)
	worst := shares[0]
	for _, s := range shares {
		if s.measured > worst.measured {
			worst = s
		}
	}
	return v.held(d, "%s; the last was sent %s after %s was seen to bite, and %s was predicted at most; %s",
		worst, moment(worst.measured), worst.outage.name, moment(j.limit), j.tally.seen(lanes))
}

func (j *failuresEndWithin) endedLate(v Verdict, lanes []history.Lane, d doubts) Verdict {
	first := &j.outside.first
	v.At = first.Sent
	j.outside.attributed().numbers(&v)
	v.support(j.outside.evidence(j.tally, lanes)...)
	where := "before any fault began"
	for _, o := range j.outages {
		if first.Sent >= o.to {
			where = fmt.Sprintf("%s after %s was seen to bite, and %s was predicted at most",
				moment(first.Sent-o.seen), o.name, moment(j.limit))
		}
	}
	return v.violated(d, "%s failed outside the predicted time, the first at %s on %s: %s, %s",
		count(j.outside.total, "request"), moment(first.Sent), first.Lane, first.Outcome, where)
}

func (j *failuresEndWithin) hitOthers(v Verdict, lanes []history.Lane, d doubts) Verdict {
	first := &j.innocent.first
	v.At = first.Sent
	j.innocent.attributed().numbers(&v)
	v.support(j.innocent.evidence(j.tally, lanes)...)
	return v.violated(d, "%s failed at pods that no fault had bitten, the first at %s on %s: %s, %s",
		count(j.innocent.total, "request"), moment(first.Sent), first.Lane, first.Outcome, kindOf(first).server())
}
