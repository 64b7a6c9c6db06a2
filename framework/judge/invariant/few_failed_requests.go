package invariant

import (
	"fmt"
	"math"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// FewFailedRequests promises that from the start of Steady to the end of Recovered no more requests fail than a number or a share. It is a
// kind of its own, and no parameter of NoFailedRequests, so that nobody takes the weaker promise for the stronger one. What counts as a
// failure, and what noise explains, is the same there.
//
// Evidence: that of NoFailedRequests; and more requests than may fail, because otherwise nothing could have broken the promise.
type FewFailedRequests struct {
	// Lanes to judge; none means all but the control lane. Their failures are added up.
	Lanes []history.Lane `json:"lanes,omitempty"`
	// AtMost is how many requests may fail. Share, if it is not zero, is in its place: which part of the judged lanes' requests may fail,
	// such as 0.001 for one of a thousand, rounded down.
	AtMost int     `json:"atMost,omitempty"`
	Share  float64 `json:"share,omitempty"`
	// By is what allows failures, for a reader of the promise, such as "holdfast.yaml"; empty: the scenario itself.
	By string `json:"by,omitempty"`
}

func (p FewFailedRequests) String() string {
	text := "no more than " + p.most()
	switch len(p.Lanes) {
	case 0:
		text += " on all lanes together"
	case 1:
		text += " on " + prose.OnLanes(p.Lanes)
	default:
		text += " on " + prose.OnLanes(p.Lanes) + " together"
	}
	if p.By != "" {
		text += ", as " + p.By + " allows"
	}
	return text
}

// most is what may fail, in words.
func (p FewFailedRequests) most() string {
	switch {
	case p.Share != 0:
		return prose.Percent(p.Share) + " of the requests fail"
	case p.AtMost == 1:
		return "1 request fails"
	}
	return fmt.Sprintf("%d requests fail", p.AtMost)
}

// allowed is how many of all requests may fail.
func (p FewFailedRequests) allowed(all uint64) uint64 {
	if p.Share == 0 {
		return uint64(max(0, p.AtMost))
	}
	share := min(max(0, p.Share), 1)
	// A share such as 0.001 is no exact binary number, and of 3000 requests 3 are meant.
	return uint64(math.Floor(share*float64(all) + 1e-6))
}

// Needs implements Invariant.
func (p FewFailedRequests) Needs() evidence.Needs {
	return evidence.Needs{Watches: evidence.Ordered, Since: evidence.Undisturbed, Requests: true}
}

// OnLanes implements LaneInvariant.
func (p FewFailedRequests) OnLanes() []history.Lane { return p.Lanes }

// NamesCauses implements LaneInvariant.
func (p FewFailedRequests) NamesCauses() bool { return true }

// Requests implements RequestInvariant.
func (p FewFailedRequests) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	return &fewFailedRequests{promise: p, failing: newFailing(p.Lanes, f, t)}
}

// Beside implements PlannedInvariant.
func (p FewFailedRequests) Beside(other FailuresEndWithin, f *evidence.Run, t *requests.Stats) RequestCheck {
	return &fewFailedRequests{promise: p, failing: newFailing(p.Lanes, f, t).besides(other)}
}

type fewFailedRequests struct {
	promise FewFailedRequests
	failing
}

func (j *fewFailedRequests) End(missing verdict.Missing) verdict.Verdict {
	disrupted := j.facts.Disruptions()
	v, c := j.count(disrupted, missing)
	all, parts := uint64(0), make([]string, len(c.lanes))
	for i, lane := range c.lanes {
		all += j.tally.Requests(lane)
		parts[i] = fmt.Sprintf("%d on %s", j.failures.Of(lane), lane)
	}
	allowed := j.promise.allowed(all)
	v.AtMost("failed", float64(allowed))
	if allowed >= all {
		c.missing.Add("the promise lets %s fail, and only %d were sent, so that nothing could have broken it", prose.Count(allowed, "request"), all)
	}
	if j.failures.Total > allowed { // otherwise it does not matter what explains them
		c.noise.RunAgain(&v)
	}
	switch failed := j.failures.Total; {
	case c.blamed.Total > allowed:
		v = c.blamed.Violate(v, j.tally, c.lanes, c.noise.Doubt(c.missing, failed))
		v.Seen += fmt.Sprintf("; no more than %d may fail", allowed)
		return v
	case failed > allowed:
		return v.Unknown(c.noise.Doubt(c.missing, failed))
	case failed > 0:
		causes := j.failures.Attributed()
		causes.Numbers(&v)
		v.Support(j.failures.Evidence(j.tally, c.lanes)...)
	}
	v.Support(j.tally.VictimLines(c.lanes)...)
	j.inFlight(&v, c.lanes)
	return v.Held(c.missing, "%d of %s failed (%s)%s, and no more than %d may fail, through %s; %s", j.failures.Total, prose.Count(all, "request"),
		strings.Join(parts, ", "), j.spared, allowed, disrupted, j.tally.Seen(c.lanes))
}
