package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// NoFailedRequests promises that from the beginning of Steady to the end of Recovered not one request fails. A retry
// that the client's transport made silently is a failure. An unsent request is none: it takes evidence away.
//
// Failures that the harness's own noise explains as well, all of them, leave it Unknown: see excused.
//
// Evidence: every row of the load, at least 100 requests a lane, load in every second, requests in flight while each
// fault was on, something that the watches saw being taken away by it, and on every lane answers of the pods that each fault
// took, just before it did.
type NoFailedRequests struct {
	// Lanes to judge; none means all but the control lane.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Refused takes evictions that a budget refused for evidence, too: where a budget blocks a drain, the promise is that
	// nothing is taken away.
	Refused bool `json:"refused,omitempty"`
}

func (p NoFailedRequests) String() string {
	text := "no request fails on " + onLanes(p.Lanes)
	if p.Refused {
		text += ", be it that evictions are refused"
	}
	return text
}

func (p NoFailedRequests) start(f *facts, t *tally) judgement {
	return &noFailedRequests{promise: p, facts: f, tally: t, failures: newFailures(f)}
}

type noFailedRequests struct {
	promise  NoFailedRequests
	facts    *facts
	tally    *tally
	failures *failures
}

func (j *noFailedRequests) take(r *history.Request) {
	switch {
	case !r.Outcome.Failed():
	case len(j.promise.Lanes) > 0 && slices.Contains(j.promise.Lanes, r.Lane):
		j.failures.add(r)
	case r.Lane == history.LaneControl:
		j.failures.addNoise(r)
	case len(j.promise.Lanes) == 0:
		j.failures.add(r)
	}
}

func (j *noFailedRequests) end() Verdict {
	lanes := j.tally.judged(j.promise.Lanes)
	disrupted := j.facts.disruptions()
	if j.promise.Refused {
		disrupted.refusals = j.facts.refusals()
	}
	d := slices.Concat(j.facts.inOrder(j.facts.steady()), j.facts.faultsBit(true), j.facts.disrupted(disrupted),
		j.tally.delivered(lanes), j.tally.reached(lanes))
	v := Verdict{}
	j.tally.numbers(&v, lanes)
	j.tally.victimNumbers(&v, lanes)
	disrupted.numbers(&v)
	v.measure("failed", float64(j.failures.total))
	blamed, noise := j.failures.blamed()
	noise.numbers(&v)
	v.measure(doubtsNumber, float64(len(d)))
	v.measure(starvedNumber, float64(len(j.tally.starved(lanes))))
	v.measure(excusedNumber, float64(noise.total))
	if line := j.tally.perWorker(lanes); line != "" {
		v.support(line)
	}
	switch {
	case blamed.total > 0:
		return blamed.violate(v, j.tally, lanes, noise.doubt(d, j.failures.total))
	case noise.total > 0:
		return v.unknown(noise.doubt(d, noise.total))
	}
	parts := make([]string, len(lanes))
	worst := 0.0
	for i, lane := range lanes {
		n := j.tally.requests(lane)
		parts[i] = fmt.Sprintf("0 of %d on %s", n, lane)
		worst = max(worst, upperBound95(n))
		v.measure("upperBound95."+string(lane), upperBound95(n))
		v.support(fmt.Sprintf("%s: 0 of %d failed; with 95 %% confidence fewer than %s of such requests do, if they are independent",
			lane, n, percent(upperBound95(n))))
	}
	v.support(j.tally.victimLines(lanes)...)
	j.inFlight(&v, lanes)
	return v.held(d, "no request failed (%s) through %s; 95 %% upper bound %s if requests are independent; %s",
		strings.Join(parts, ", "), disrupted, percent(worst), j.tally.seen(lanes))
}

// inFlight says how many requests each fault met.
func (j *noFailedRequests) inFlight(v *Verdict, lanes []history.Lane) {
	for i, fault := range j.facts.faults {
		var n uint64
		for _, lane := range lanes {
			if l := j.tally.find(lane); l != nil {
				n += l.inFlight[i]
			}
		}
		v.support(fmt.Sprintf("%s while %s was on, from %s to %s", count(n, "request"), fault.Name,
			moment(fault.Injecting.At), moment(fault.Healed.At)))
	}
}
