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
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/outage"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// FailuresEndWithin is the promise about a lost node without a gateway that hides it: requests fail only from the start of a fault
// until the cluster must have noticed the loss, and then only the victims' share of them, over the whole time and in each part of
// it. Requests that fail at other pods, and new connections that fail after no endpoint has led to a victim for a while, are not
// the victims'.
//
// Evidence: that of NoFailedRequests; victims that answered requests before; and a fault that was reverted only after the failures
// had to be over, because otherwise the revert may have ended them. Failures after a fault that was never seen in effect leave the
// promise Unknown, because what that fault explains is unknown.
//
// In a recording the predicted time of a lost node is for lost nodes. Pods that end, and containers that are restarted, while the node stays have the
// time that is promised, or else that which proxies need. Victims that had all endpoints leave the promise Unknown if requests failed.
type FailuresEndWithin struct {
	// Lanes to judge; none means all but the control lane. Each is judged by itself.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Limit is how long after the death of the victims the last failing request may be sent. It counts from the victims' last good
	// answer, or from the start of the fault if that is later. Zero predicts it for a lost node from the timings of the cluster:
	// see NodeLossLimit.
	Limit time.Duration `json:"limit,omitempty"`
	// Service receives the requests. Empty means the one that the URLs of the lanes name, or else the only Service that had endpoints on the
	// victims.
	Service string `json:"service,omitempty"`
}

// NodeLossLimit is the longest time from a node's death to the last request that is sent to its pods. The node controller dates a
// heartbeat by when it looked, up to one period after it was sent. The grace period starts there, and its end is noticed up to one
// period late.
//
// Source: monitorNodeHealth and tryUpdateNodeHealth in kubernetes pkg/controller/nodelifecycle
func NodeLossLimit(t history.Timings) time.Duration {
	return t.NodeMonitorPeriod + t.NodeMonitorGrace + t.NodeMonitorPeriod + evidence.PropagationSlack
}

func (p FailuresEndWithin) String() string {
	until := "until the cluster must have noticed the lost node"
	if p.Limit > 0 {
		until = "until " + p.Limit.String() + " after a fault"
	}
	return "requests fail on " + prose.OnLanes(p.Lanes) + " only " + until + ", and only the victims' share of them fails"
}

// Lasts is how long requests may fail after pods have ended: those of a lost node, or others, which the control plane knows of as soon as it is reported.
func (p FailuresEndWithin) Lasts(run history.Run, node bool) time.Duration {
	if node {
		return cmp.Or(p.Limit, NodeLossLimit(run.Header.Cluster.Timings))
	}
	return cmp.Or(p.Limit, evidence.PropagationSlack)
}

// Watched implements WatchingInvariant. Where the limit is predicted it is that of the cluster's timings, or of Kubernetes' defaults.
func (p FailuresEndWithin) Watched() time.Duration { return max(p.Limit, 2*time.Minute) }

// atMost is how long requests may fail, in words. A limit that is looser than the prediction is said to be.
func (p FailuresEndWithin) atMost(run history.Run, limit time.Duration) string {
	predicted := NodeLossLimit(run.Header.Cluster.Timings)
	switch {
	case p.Limit == 0:
		return "at most " + prose.Moment(limit) + " was predicted"
	case p.Limit > predicted && run.Header.Cluster.Timings.NodeMonitorGrace > 0:
		return "at most " + prose.Moment(p.Limit) + " was promised, although " + prose.Moment(predicted) + " is predicted for a lost node"
	}
	return "at most " + prose.Moment(p.Limit) + " was promised"
}

// Needs implements Invariant.
func (p FailuresEndWithin) Needs() evidence.Needs {
	return evidence.Needs{Watches: evidence.Ordered, Since: evidence.Undisturbed, Requests: true}
}

// OnLanes implements LaneInvariant.
func (p FailuresEndWithin) OnLanes() []history.Lane { return p.Lanes }

// NamesCauses implements LaneInvariant.
func (p FailuresEndWithin) NamesCauses() bool { return true }

// Requests implements RequestInvariant.
func (p FailuresEndWithin) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	j := &failuresEndWithin{promise: p, facts: f, tally: t, limit: p.Lasts(f.Record, true), sorter: p.sorter(f)}
	if f.Record.Header.Recorded != nil {
		j.limit = j.sorter.Longest(j.limit)
	}
	return j
}

// BesidePlanned is Requests for a time in which something planned happened as well, of which another promise says what may fail.
func (p FailuresEndWithin) BesidePlanned(f *evidence.Run, t *requests.Stats) RequestCheck {
	j := p.Requests(f, t).(*failuresEndWithin)
	j.sorter.Besides = true
	return j
}

// sorter sorts failures by the outages that the promise allows.
func (p FailuresEndWithin) sorter(f *evidence.Run) *outage.Sorter {
	return &outage.Sorter{Facts: f, Outages: outage.Outages(f, p.Lasts(f.Record, true), p.Lasts(f.Record, false), p.Service, p.Lanes), Unclear: p.unclear(f), Failures: failures.NewFailures(f)}
}

// predicts says whether the time in which failures are allowed is known.
func (p FailuresEndWithin) predicts(run history.Run) bool {
	return p.Limit > 0 || run.Header.Cluster.Timings.NodeMonitorGrace > 0
}

// unclear is the moment from which it is unknown whether a failure was allowed: a fault had begun, and when it took effect, or how
// long its effect lasts, is unknown.
func (p FailuresEndWithin) unclear(f *evidence.Run) history.Offset {
	from := evidence.Never
	for _, fault := range f.Faults {
		if !fault.Injecting.OK || !fault.Seen.OK || !p.predicts(f.Record) {
			from = min(from, fault.Injecting.At) // zero if the start is not in the record
		}
	}
	return from
}

type failuresEndWithin struct {
	promise FailuresEndWithin
	facts   *evidence.Run
	tally   *requests.Stats
	limit   time.Duration
	sorter  *outage.Sorter
}

func (j *failuresEndWithin) Take(r *history.Request) {
	failed := r.Outcome.Failed()
	if r.Lane == history.LaneControl && failed {
		j.sorter.Failures.AddNoise(r)
	}
	if r.Outcome == history.Unsent {
		return
	}
	if !failed { // on any lane: it shows which pods were alive
		for _, o := range j.sorter.Outages {
			o.Answered(r, Judges(j.promise.Lanes, r.Lane))
		}
	}
	if !Judges(j.promise.Lanes, r.Lane) {
		return
	}
	if failed {
		j.sorter.Failures.Add(r)
	}
	for _, o := range j.sorter.Outages {
		if r.Done >= o.From && r.Sent < o.To {
			o.Count(r, failed)
			return
		}
	}
}

func (j *failuresEndWithin) End(missing verdict.Missing) verdict.Verdict {
	lanes := j.tally.Judged(j.promise.Lanes)
	disrupted := j.facts.Disruptions()
	sorted := j.sorter.Sort()
	missing = slices.Concat(missing, j.facts.Disrupted(disrupted),
		j.tally.Delivered(lanes), j.tally.Reached(lanes))
	if !j.promise.predicts(j.facts.Record) {
		missing.Add("the record lacks the timings after which its cluster notices a lost node")
	}
	for _, o := range j.sorter.Outages {
		missing = append(missing, o.AllDoubts(j.sorter.Failures.Total > 0)...)
	}
	v := verdict.Verdict{}
	j.tally.Numbers(&v, lanes)
	j.tally.VictimNumbers(&v, lanes)
	v.Measure("failed", float64(j.sorter.Failures.Total))
	v.Measure("failedOutside", float64(sorted.Outside.Total))
	v.AtMost("failedOutside", 0)
	v.Measure("limitSeconds", j.limit.Seconds())
	disrupted.Numbers(&v)
	shares := j.sorter.Shares(&v, lanes)
	if _, measured := v.Numbers["measuredSeconds"]; measured {
		v.AtMost("measuredSeconds", j.limit.Seconds())
	}
	excess, beyond := sorted.TooMany(shares)
	sorted.Noise.Numbers(&v)
	sorted.Noise.RunAgain(&v)
	missing = slices.Concat(sorted.Noise.Doubt(nil, j.sorter.Failures.Total), missing, sorted.Doubts)
	v.Measure(requests.DoubtsNumber, float64(len(missing)))
	switch {
	case sorted.Outside.Total > 0:
		return j.endedLate(v, sorted.Outside, lanes, missing)
	case sorted.Innocent.Total > 0:
		return j.hitOthers(v, sorted.Innocent, lanes, missing)
	case sorted.Stray.Total > 0:
		return j.strayed(v, sorted.Stray, lanes, missing)
	case excess != nil:
		sorted.Inside.BreaksOn(&v, j.tally, lanes, beyond)
		v.At = excess.First
		return v.Violated(missing, "more than the victims' share failed: %s", excess)
	}
	if s, on := outage.AtOnce(shares); s != nil {
		sorted.Inside.BreaksOn(&v, j.tally, lanes, on)
		v.At = s.Burst.From
		return v.Violated(missing, "more than the victims' share failed at once: %s on %s; %s, which with sampling error allows %d",
			s.Burst, s.Lane, s.Outage.Words, s.Burst.Most)
	}
	return j.held(v, lanes, sorted.Inside, shares, disrupted, missing)
}

func (j *failuresEndWithin) held(v verdict.Verdict, lanes []history.Lane, inside *failures.Failures, shares []outage.Share, disrupted evidence.Disruptions, missing verdict.Missing) verdict.Verdict {
	v.Support(j.tally.VictimLines(lanes)...)
	if len(shares) == 0 { // otherwise the missing evidence explains why
		if !slices.ContainsFunc(j.sorter.Outages, func(o *outage.Outage) bool { return !o.Missed() }) && len(j.sorter.Outages) > 0 {
			return v.Held(missing, "no request failed, through %s, of which %s; %s", disrupted, j.sorter.Outages[0].Words, j.tally.Seen(lanes))
		}
		return v.Held(missing, "no request failed, although the victims had answered before, through %s; failures had to end within %s; %s",
			disrupted, prose.Moment(j.limit), j.tally.Seen(lanes))
	}
	for _, s := range shares {
		v.Support(s.String())
	}
	causes := inside.Attributed()
	causes.Numbers(&v)
	v.Support(causes.Evidence(inside.Groups.Timelines)...)
	worst := slices.MaxFunc(shares, func(a, b outage.Share) int { return cmp.Compare(a.Measured, b.Measured) })
	var untested string
	for _, s := range shares {
		if s.Failed > 0 && !s.Tested() && s.Lane != worst.Lane {
			untested += fmt.Sprintf("; on %s too few requests opened a connection to test the share", s.Lane)
		}
	}
	return v.Held(missing, "%s%s; the last was sent %s after %s, and %s; %s",
		worst, untested, prose.Moment(worst.Measured), worst.Since.Since(), j.promise.atMost(j.facts.Record, j.limit), j.tally.Seen(lanes))
}

func (j *failuresEndWithin) endedLate(v verdict.Verdict, outside *failures.Failures, lanes []history.Lane, missing verdict.Missing) verdict.Verdict {
	first := outside.Breaks(&v, j.tally, lanes)
	where := "before any fault began"
	for _, o := range j.sorter.Outages {
		if first.Done >= o.From {
			since := o.Before(first.Sent)
			where = fmt.Sprintf("%s after %s, and %s", prose.Moment(first.Sent-since.Earliest()), since.Since(), j.promise.atMost(j.facts.Record, j.limit))
		}
	}
	of := "predicted"
	if j.promise.Limit > 0 {
		of = "promised"
	}
	return v.Violated(missing, "%s%s failed outside the %s time; the first was sent at %s on %s: %s, %s", outside.Unended(lanes),
		prose.Count(outside.Total, "request"), of, prose.Moment(first.Sent), first.Lane, first.Outcome, where)
}

func (j *failuresEndWithin) hitOthers(v verdict.Verdict, innocent *failures.Failures, lanes []history.Lane, missing verdict.Missing) verdict.Verdict {
	first := innocent.Breaks(&v, j.tally, lanes)
	return v.Violated(missing, "%s failed at pods that no fault had affected; the first was sent at %s on %s: %s, %s",
		prose.Count(innocent.Total, "request"), prose.Moment(first.Sent), first.Lane, first.Outcome, failures.KindOf(first).Server())
}

func (j *failuresEndWithin) strayed(v verdict.Verdict, stray *failures.Failures, lanes []history.Lane, missing verdict.Missing) verdict.Verdict {
	first := stray.Breaks(&v, j.tally, lanes)
	return v.Violated(missing, "%s failed although no endpoint had led to a victim for %s; the first was sent at %s on %s: %s",
		prose.Count(stray.Total, "request"), evidence.PropagationSlack, prose.Moment(first.Sent), first.Lane, first.Outcome)
}
