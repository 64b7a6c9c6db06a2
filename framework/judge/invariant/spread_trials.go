package invariant

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SpreadTrials promises Spread of every Deployment in the record. Each Deployment is a trial of the same kind, so the verdict says
// how often chance breaks the spread.
//
// Evidence: that of Spread for each trial; and two trials.
type SpreadTrials struct {
	// TopologyKey and Max are Spread's.
	TopologyKey string `json:"topologyKey"`
	Max         int    `json:"max"`
	// Often is the share of trials, from 0 to below 1, that may break the spread, for claims that are true mostly.
	Often float64 `json:"often,omitempty"`
}

func (p SpreadTrials) String() string {
	which := "in every trial"
	if p.Often > 0 {
		which = fmt.Sprintf("in all but at most %s of the trials", prose.Percent(p.Often))
	}
	return fmt.Sprintf("%s the pods are spread over %s with a skew of at most %d whenever they have settled", which, p.TopologyKey, p.Max)
}

// Needs implements Invariant.
func (p SpreadTrials) Needs() evidence.Needs {
	return evidence.Needs{MovedByNodeLoss: true, Parts: []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads}}
}

// AboutPlacement implements PlacementInvariant.
func (p SpreadTrials) AboutPlacement() {}

// Judge implements EventInvariant.
func (p SpreadTrials) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	keys := evidence.Deployments(f.Record)
	if more := evidence.UnclearSelectors(f.Record, keys...); len(more) > 0 {
		return verdict.Verdict{}.Unknown(append(missing, more...))
	}
	if len(keys) < 2 {
		missing.Add("the record has %s, and at least 2 trials are needed to judge chance", prose.Count(len(keys), "Deployment"))
	}
	if p.Often < 0 || p.Often >= 1 {
		missing.Add("%s of the trials may break the promise, so it promises nothing", prose.Percent(p.Often))
	}
	v, t := verdict.Verdict{}, trials{of: len(keys)}
	states, largest := 0, map[int]int{} // number of trials by their largest skew
	for _, key := range keys {
		l := spread.FollowDistribution(f, key, p.TopologyKey, false)
		missing = append(missing, l.Doubts(key.Name)...)
		states += len(l.Distributions)
		ledger := spread.FollowSkew(f, p.TopologyKey, key)
		ledger.Count(&v, p.Max)
		l.Blame(ledger, p.Max)
		worst, bad, first := Spread{TopologyKey: p.TopologyKey, Max: p.Max}.weigh(l)
		switch {
		case first != nil:
			t.broke(first.At, fmt.Sprintf("%s at %s: %s, skew %d, %s", key.Name, prose.Moment(first.At), first, first.Skew(), first.Why))
		case bad > 0: // recorded only during a gap of a watch
			missing.Add("the spread of %s was too uneven, but only during a gap of a watch", key.Name)
		}
		if worst != nil {
			t.worst = max(t.worst, worst.Skew())
			largest[worst.Skew()]++
		}
	}
	t.measure(&v)
	v.Measure("allowedSkew", float64(p.Max))
	v.Measure("largestSkew", float64(t.worst))
	if len(t.broken) > 0 {
		v.Support(t.broken...)
	}
	if float64(len(t.broken)) > p.Often*float64(t.of) {
		v.At = t.first
		return v.Violated(missing, "the skew over %s was above %d in %s; the largest of each trial: %s", p.TopologyKey, p.Max, t, tallied(largest))
	}
	return v.Held(missing, "the skew over %s was above %d in %s, in %s; the largest of each trial: %s",
		p.TopologyKey, p.Max, t, prose.Count(states, "settled state"), tallied(largest))
}

// tallied formats "1 in 4, 2 in 1".
func tallied(trials map[int]int) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(trials)) {
		parts = append(parts, fmt.Sprintf("%d in %d", value, trials[value]))
	}
	return cmp.Or(strings.Join(parts, ", "), "none was seen")
}

// trials counts in how many of several similar workloads something happened.
type trials struct {
	of     int
	broken []string       // a description for each trial in which it happened
	first  history.Offset // the earliest time
	worst  int
}

func (t *trials) broke(at history.Offset, seen string) {
	if len(t.broken) == 0 || at < t.first {
		t.first = at
	}
	t.broken = append(t.broken, seen)
}

// String is "13 of 20 trials (65 %, 95 % interval 40.8 to 84.6 %)".
func (t trials) String() string {
	low, high := t.interval()
	return fmt.Sprintf("%d of %s (%s, 95 %% interval %s to %s)", len(t.broken), prose.Count(t.of, "trial"),
		prose.Percent(float64(len(t.broken))/float64(max(t.of, 1))), prose.Percent(low), prose.Percent(high))
}

func (t trials) interval() (low, high float64) {
	return stats.Interval95(uint64(len(t.broken)), uint64(t.of))
}

func (t trials) measure(v *verdict.Verdict) {
	low, high := t.interval()
	v.Measure("trials", float64(t.of))
	v.Measure("brokenTrials", float64(len(t.broken)))
	v.Measure("brokenShareLow95", low)
	v.Measure("brokenShareHigh95", high)
}
