package invariant

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/analysis/failures"
	"github.com/holdfast-ha/holdfast/framework/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/stats"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// NoFailedRequests promises that no request fails from the start of Steady to the end of Recovered. A retry that the client's
// transport made silently is a failure. An unsent request is not; it is missing evidence.
//
// If the harness's own noise explains every failure as well, the promise is Unknown: see failures.Excused.
//
// Evidence: every row of the load, at least 100 requests on each lane, load in every second, requests in flight during each fault,
// a disruption by the faults that the watches saw, and, on every lane, answers of the pods that each fault took, just before it
// did.
type NoFailedRequests struct {
	// Lanes to judge; none means all but the control lane.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// Refused lets evictions that a budget refused count as the disruption: where a budget blocks a drain, nothing is disrupted.
	Refused bool `json:"refused,omitempty"`
}

func (p NoFailedRequests) String() string {
	text := "no request fails on " + prose.OnLanes(p.Lanes)
	if p.Refused {
		text += ", even while evictions are refused"
	}
	return text
}

// Needs implements Invariant.
func (p NoFailedRequests) Needs() evidence.Needs {
	return evidence.Needs{Watches: evidence.Ordered, Since: evidence.Undisturbed, Requests: true}
}

// OnLanes implements LaneInvariant.
func (p NoFailedRequests) OnLanes() []history.Lane { return p.Lanes }

// NamesCauses implements LaneInvariant.
func (p NoFailedRequests) NamesCauses() bool { return true }

// Requests implements RequestInvariant.
func (p NoFailedRequests) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	return &noFailedRequests{promise: p, facts: f, tally: t, failures: failures.NewFailures(f)}
}

type noFailedRequests struct {
	promise  NoFailedRequests
	facts    *evidence.Run
	tally    *requests.Stats
	failures *failures.Failures
}

func (j *noFailedRequests) Take(r *history.Request) {
	switch {
	case !r.Outcome.Failed():
	case len(j.promise.Lanes) > 0 && slices.Contains(j.promise.Lanes, r.Lane):
		j.failures.Add(r)
	case r.Lane == history.LaneControl:
		j.failures.AddNoise(r)
	case len(j.promise.Lanes) == 0:
		j.failures.Add(r)
	}
}

func (j *noFailedRequests) End(missing verdict.Missing) verdict.Verdict {
	lanes := j.tally.Judged(j.promise.Lanes)
	disrupted := j.facts.Disruptions()
	if j.promise.Refused {
		disrupted.Refusals = j.facts.Refusals()
	}
	missing = slices.Concat(missing, j.facts.Disrupted(disrupted),
		j.tally.Delivered(lanes), j.tally.Reached(lanes))
	v := verdict.Verdict{}
	j.tally.Numbers(&v, lanes)
	j.tally.VictimNumbers(&v, lanes)
	disrupted.Numbers(&v)
	v.Measure("failed", float64(j.failures.Total))
	v.AtMost("failed", 0)
	blamed, noise := j.failures.Blamed()
	noise.Numbers(&v)
	v.Measure(requests.DoubtsNumber, float64(len(missing)))
	v.Measure(requests.StarvedNumber, float64(len(j.tally.Starved(lanes))))
	v.Measure(requests.ExcusedNumber, float64(noise.Total))
	if line := j.tally.PerWorker(lanes); line != "" {
		v.Support(line)
	}
	switch {
	case blamed.Total > 0:
		return blamed.Violate(v, j.tally, lanes, noise.Doubt(missing, j.failures.Total))
	case noise.Total > 0:
		return v.Unknown(noise.Doubt(missing, noise.Total))
	}
	parts := make([]string, len(lanes))
	worst := 0.0
	for i, lane := range lanes {
		n := j.tally.Requests(lane)
		parts[i] = fmt.Sprintf("0 of %d on %s", n, lane)
		worst = max(worst, stats.UpperBound95(n))
		v.Measure("upperBound95."+string(lane), stats.UpperBound95(n))
		v.Support(fmt.Sprintf("%s: 0 of %d failed; with 95 %% confidence fewer than %s of such requests fail, if they are independent",
			lane, n, prose.Percent(stats.UpperBound95(n))))
	}
	v.Support(j.tally.VictimLines(lanes)...)
	j.inFlight(&v, lanes)
	return v.Held(missing, "no request failed (%s) through %s; 95 %% upper bound %s if requests are independent; %s",
		strings.Join(parts, ", "), disrupted, prose.Percent(worst), j.tally.Seen(lanes))
}

// inFlight describes how many requests were in flight during each fault.
func (j *noFailedRequests) inFlight(v *verdict.Verdict, lanes []history.Lane) {
	for i, fault := range j.facts.Faults {
		var n uint64
		for _, lane := range lanes {
			if l := j.tally.Find(lane); l != nil {
				n += l.InFlight[i]
			}
		}
		v.Support(fmt.Sprintf("%s while %s was on, from %s to %s", prose.Count(n, "request"), fault.Name,
			prose.Moment(fault.Injecting.At), prose.Moment(fault.Healed.At)))
	}
}
