package invariant

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// NoFailedRequests promises that no request fails from the start of Steady to the end of Recovered. A retry that the client's
// transport made silently is a failure. An unsent request is not; it is missing evidence.
//
// If the harness's own noise, or a busy machine, explains every failure as well, the promise is Unknown: see failures.Excused.
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
	return &noFailedRequests{promise: p, failing: newFailing(p.Lanes, f, t)}
}

// Beside implements PlannedInvariant.
func (p NoFailedRequests) Beside(other FailuresEndWithin, f *evidence.Run, t *requests.Stats) RequestCheck {
	return &noFailedRequests{promise: p, failing: newFailing(p.Lanes, f, t).besides(other)}
}

type noFailedRequests struct {
	promise NoFailedRequests
	failing
}

func (j *noFailedRequests) End(missing verdict.Missing) verdict.Verdict {
	disrupted := j.facts.Disruptions()
	if j.promise.Refused {
		disrupted.Refusals = j.facts.Refusals()
	}
	v, c := j.count(disrupted, missing)
	v.AtMost("failed", 0)
	c.noise.RunAgain(&v)
	switch {
	case c.blamed.Total > 0:
		return c.blamed.Violate(v, j.tally, c.lanes, c.noise.Doubt(c.missing, j.failures.Total))
	case c.noise.Total > 0:
		return v.Unknown(c.noise.Doubt(c.missing, c.noise.Total))
	}
	parts := make([]string, len(c.lanes))
	worst := 0.0
	for i, lane := range c.lanes {
		n := j.tally.Requests(lane)
		parts[i] = fmt.Sprintf("0 of %d on %s", n, lane)
		worst = max(worst, stats.UpperBound95(n))
		v.Measure("upperBound95."+string(lane), stats.UpperBound95(n))
		v.Support(fmt.Sprintf("%s: 0 of %d failed; with 95 %% confidence fewer than %s of such requests fail, if they are independent",
			lane, n, prose.Percent(stats.UpperBound95(n))))
	}
	v.Support(j.tally.VictimLines(c.lanes)...)
	j.inFlight(&v, c.lanes)
	return v.Held(c.missing, "no request failed (%s)%s through %s; 95 %% upper bound %s if requests are independent; %s",
		strings.Join(parts, ", "), j.spared, disrupted, prose.Percent(worst), j.tally.Seen(c.lanes))
}
