package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// QuietWithin promises that no request of a lane that is sent more than Limit after a pod's deletion reaches the pod. On the fresh
// lane each request is a new connection, and a preStop sleep that is long enough keeps the promise: Kubernetes removes a deleted
// pod from the EndpointSlices and ends its containers at the same time, without waiting for the proxies.
//
// A deletion is dated by when the watch reported it, on the record's clock, because the API's deletionTimestamp has whole seconds.
// A watch reports late, never early, so a busy API server makes the promise easier to keep. A request is dated by when it was sent, by
// its worker's clock. If either could decide the verdict, it is Unknown.
//
// Evidence: that of NoFailedRequests; a known server for every request of the lane; and Terminations pods that the lane's requests
// reached in the second before their deletion, with load for at least Limit afterwards.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination
type QuietWithin struct {
	Limit time.Duration `json:"limit"`
	// Lane to judge; empty means fresh.
	Lane history.Lane `json:"lane,omitempty"`
	// Terminations is the smallest number of pods that must count; at least one.
	Terminations int `json:"terminations,omitempty"`
}

// flowWindow is the time before a deletion in which requests must have reached the pod. A pod without requests before its deletion
// proves little.
const flowWindow = time.Second

func (p QuietWithin) lane() history.Lane { return cmp.Or(p.Lane, history.LaneFresh) }

// what comes on a lane.
func (p QuietWithin) what() string {
	if p.lane() == history.LaneFresh {
		return "new connection"
	}
	return "request on " + string(p.Lane)
}

func (p QuietWithin) String() string {
	return fmt.Sprintf("no %s reaches a pod later than %s after its deletion", p.what(), p.Limit)
}

// Needs implements Invariant.
func (p QuietWithin) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Requests: true, Parts: []evidence.Part{evidence.PartPods}}
}

// Requests implements RequestInvariant.
func (p QuietWithin) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	j := &quietWithin{promise: p, facts: f, tally: t, byName: make(map[string]*ending)}
	disturbed := f.Phases[history.Disturbed]
	for _, end := range f.Timeline().Terminations(disturbed.From, disturbed.To) {
		if end.Requested.OK && end.Alone { // else it is unknown which of the pods of that name a request reached
			e := &ending{pod: end.Name, node: end.Node, began: end.Requested.At, clock: f.ClockError()}
			j.byName[e.pod] = e
			j.endings = append(j.endings, e)
		}
	}
	return j
}

// ending is a deleted pod with the requests that reached it.
type ending struct {
	pod, node string
	began     history.Offset // the deletion
	clock     history.Offset // how far the times of requests may be off
	before    int            // requests within flowWindow before the deletion
	after     int            // requests after the deletion
	last      time.Duration  // from the deletion to the last request; 0 if there was none
	late      history.Moment // when the first late request was sent
}

func (e *ending) take(sent history.Offset, limit time.Duration) {
	after := sent - e.began
	switch {
	case after > 0:
		e.after++
		e.last = max(e.last, after)
		if after-e.clock > limit && (!e.late.OK || sent < e.late.At) {
			e.late = history.Moment{At: sent, OK: true}
		}
	case requests.JustBefore(sent+e.clock, e.began, flowWindow):
		e.before++
	}
}

// excuse is why requests that came too late say nothing: the machine was slow for so long after the deletion.
func (e *ending) excuse(f *evidence.Run, limit time.Duration) evidence.Reason {
	slowed, why := f.Slowed(e.began, e.began+e.last)
	if !e.late.OK || e.last-slowed > limit {
		return evidence.Reason{}
	}
	return why
}

type quietWithin struct {
	promise QuietWithin
	facts   *evidence.Run
	tally   *requests.Stats
	endings []*ending
	byName  map[string]*ending
	astray  uint64 // requests that reached an unknown pod
}

func (j *quietWithin) Take(r *history.Request) {
	if r.Lane != j.promise.lane() || r.Outcome == history.Unsent {
		return
	}
	if !evidence.Reached(r) || r.GatewayTries > 1 { // the record lacks the upstreams that a gateway tried before
		j.astray++
	}
	if e := j.byName[r.Pod]; e != nil && evidence.Reached(r) {
		e.take(r.Sent, j.promise.Limit)
	}
}

func (j *quietWithin) End(missing verdict.Missing) verdict.Verdict {
	lanes := []history.Lane{j.promise.lane()}
	q := j.quiet()
	missing = slices.Concat(missing, j.tally.Delivered(lanes))
	v := verdict.Verdict{}
	for _, e := range j.endings {
		if why := e.excuse(j.facts, j.promise.Limit); !why.None() {
			missing.Add("the last %s came %s after a deletion, and %s was the limit, but it %s", j.promise.what(), prose.Moment(e.last), j.promise.Limit, why.Words)
			why.Count(&v, 1)
		}
	}
	if j.astray > 0 {
		missing.Add("of %s on %s it is unknown which pods were tried", prose.Count(j.astray, "request"), lanes[0])
	}
	if least := max(1, j.promise.Terminations); len(q.endings) < least {
		missing.Add("%s of pods that %s reached until then and for %s could have gone on to, and %d are needed",
			prose.Count(len(q.endings), "termination"), lanes[0], j.promise.Limit, least)
	}
	missing = append(missing, j.toldLate(q)...)
	j.tally.Numbers(&v, lanes)
	q.numbers(&v, j.promise.Limit)
	j.support(&v, q)
	if q.late > 0 {
		v.At = q.firstLate
		return v.Violated(missing, "%d of %s got a %s more than %s after their deletion (%s, 95 %% interval %s to %s), the latest %s; %s",
			q.late, prose.Count(len(q.endings), "pod"), j.promise.what(), j.promise.Limit, prose.Percent(q.share()), prose.Percent(q.low),
			prose.Percent(q.high), q.endings[0], q)
	}
	return v.Held(missing, "the last %s came %s after the deletion of %s; 0 later than %s, 95 %% upper bound %s",
		j.promise.what(), q, prose.Count(len(q.endings), "pod"), j.promise.Limit, prose.Percent(q.high))
}

// toldLate reports pods whose last request was in time only if the watch reported their deletion on time and the harness was not
// paused.
func (j *quietWithin) toldLate(q quiet) (missing verdict.Missing) {
	for _, e := range q.endings {
		late := max(j.facts.Noise.Watches, j.facts.LateBy(e.began))
		if off := e.last - j.promise.Limit; q.late == 0 && off.Abs() <= e.clock {
			missing.Add("the last %s came %s after a deletion, and the clocks of the load workers are known to %s only: whether that is more than %s is unknown",
				j.promise.what(), prose.Moment(e.last), e.clock.Round(time.Microsecond), j.promise.Limit)
			return missing
		}
		if q.late == 0 && e.last+late > j.promise.Limit {
			missing.Add("the last %s came %s after a deletion that the watches reported up to %s late; together that is more than %s",
				j.promise.what(), prose.Moment(e.last), prose.Moment(late), j.promise.Limit)
			return missing
		}
	}
	return missing
}

// quiet is how long it took until pods got no more requests.
type quiet struct {
	endings   []*ending // those that count, the slowest first
	late      int
	firstLate history.Offset
	low, high float64 // the 95 % interval of the share of late ones
}

// quiet selects the endings that count: pods that got requests before their deletion, and could have got them until the limit. A
// pod with a late request counts in any case.
func (j *quietWithin) quiet() (q quiet) {
	for _, e := range j.endings {
		if !e.excuse(j.facts, j.promise.Limit).None() || !e.late.OK && (e.before == 0 || j.tally.To-e.began < j.promise.Limit) {
			continue
		}
		q.endings = append(q.endings, e)
		if e.late.OK {
			if q.late == 0 || e.late.At < q.firstLate {
				q.firstLate = e.late.At
			}
			q.late++
		}
	}
	slices.SortStableFunc(q.endings, func(a, b *ending) int {
		return cmp.Or(cmp.Compare(b.last, a.last), cmp.Compare(a.began, b.began), cmp.Compare(a.pod, b.pod))
	})
	q.low, q.high = stats.Interval95(uint64(q.late), uint64(len(q.endings)))
	if q.late == 0 {
		q.high = stats.UpperBound95(uint64(len(q.endings)))
	}
	return q
}

func (q quiet) share() float64 { return float64(q.late) / float64(max(1, len(q.endings))) }

// quantile is the smallest time within which that share of the pods got their last request.
func (q quiet) quantile(share float64) time.Duration {
	n := len(q.endings)
	if n == 0 {
		return 0
	}
	const rounding = 1e-9 // 0.9 x 10 is slightly more than 9
	slower := min(n-1, int(float64(n)*(1-share)+rounding))
	return q.endings[slower].last
}

// String is the distribution: "0.41s (p50), 0.9s (p90), 1.1s (p99), 1.2s (max)".
func (q quiet) String() string {
	return fmt.Sprintf("%s (p50), %s (p90), %s (p99), %s (max)",
		prose.Moment(q.quantile(0.5)), prose.Moment(q.quantile(0.9)), prose.Moment(q.quantile(0.99)), prose.Moment(q.quantile(1)))
}

func (q quiet) numbers(v *verdict.Verdict, limit time.Duration) {
	v.Measure("terminations", float64(len(q.endings)))
	v.Measure("late", float64(q.late))
	v.Measure("lateShareHigh95", q.high)
	v.Measure("limitSeconds", limit.Seconds())
	for name, share := range map[string]float64{"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1} {
		v.Measure("lastSeconds."+name, q.quantile(share).Seconds())
	}
	v.AtMost("lastSeconds.max", limit.Seconds())
}

// pace is the time between two requests to a pod before its deletion, the median of the pods.
func (q quiet) pace() time.Duration {
	rates := make([]int, len(q.endings))
	for i, e := range q.endings {
		rates[i] = e.before
	}
	slices.Sort(rates)
	return flowWindow / time.Duration(max(1, rates[len(rates)/2]))
}

// latest is how many of the slowest pods the evidence lists.
const latest = 5

// support lists the slowest pods, and the precision of the measurement.
func (j *quietWithin) support(v *verdict.Verdict, q quiet) {
	for _, e := range q.endings[:min(latest, len(q.endings))] {
		v.Support(e.line(j.promise.Limit))
	}
	if len(q.endings) > 0 {
		pace := q.pace()
		v.Measure("paceSeconds", pace.Seconds())
		v.Support(fmt.Sprintf("before its deletion a pod got a request every %s, which limits the precision", prose.Moment(pace)),
			fmt.Sprintf("deletions are dated by the watch, which is never early; requests by when they were sent, exact within %s",
				j.facts.ClockError()))
	}
	if left := len(j.endings) - len(q.endings); left > 0 {
		v.Support(fmt.Sprintf("%s more: not reached in the second before, or deleted less than %s before the load ended",
			prose.Count(left, "termination"), j.promise.Limit))
	}
}

// String names the pod: "4.9s: backend-1 on w1".
func (e *ending) String() string {
	return fmt.Sprintf("%s: %s on %s", prose.Moment(e.last), e.pod, e.node)
}

func (e *ending) line(limit time.Duration) string {
	text := fmt.Sprintf("%s on %s, deleted at %s: ", e.pod, e.node, prose.Moment(e.began))
	switch {
	case e.after == 0:
		return text + "no request after that"
	case e.last > limit:
		return text + fmt.Sprintf("%s after that, the last %s later, %s beyond the limit", prose.Count(e.after, "request"), prose.Moment(e.last),
			prose.Moment(e.last-limit))
	}
	return text + fmt.Sprintf("%s after that, the last %s later, %s before the limit", prose.Count(e.after, "request"), prose.Moment(e.last),
		prose.Moment(limit-e.last))
}
