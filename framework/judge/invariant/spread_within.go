package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/placement"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SpreadWithin promises that a spread which a fault unbalanced is restored: within a limit after the last fault was seen, the
// workload has settled with a skew of at most Max over a topology, and whenever it settles later, until the end of Recovered, the
// skew is no larger.
//
// The scheduler moves no running pod, so the promise needs a component that does. Domains are those of Spread.
//
// In a recording the limit counts from when the workload was first seen settled with a larger skew, because a node that was drained comes
// back to its domain when it is uncordoned. Without a TopologyKey each workload is judged by the hard constraints of its own pod
// template (DoNotSchedule); the soft ones are wishes. Pods and domains are then counted as the scheduler does: all pods that a constraint's selector
// selects, in the domains where the workload's node affinity lets them be, and as if one were empty where there are fewer than minDomains.
//
// Evidence: that of Spread; the workload settled with a larger skew after the last fault began; and it was watched for at least the
// limit, unless its spread was restored before.
type SpreadWithin struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// TopologyKey and Max are Spread's. A recording may have neither.
	TopologyKey string        `json:"topologyKey"`
	Max         int           `json:"max"`
	Limit       time.Duration `json:"limit"`
	// MinDomains is that of a workload's own constraint, in a recording: in fewer domains, another one counts as empty.
	MinDomains int `json:"minDomains,omitempty"`
}

func (p SpreadWithin) String() string {
	if p.TopologyKey == "" {
		return fmt.Sprintf("the spread of each workload is back within its own hard constraints %s after it was unbalanced", p.Limit)
	}
	return fmt.Sprintf("the spread of %s over %s is back at a skew of at most %d within %s of being unbalanced",
		whose(p.Workload), p.TopologyKey, p.Max, p.Limit)
}

// Needs implements Invariant.
func (p SpreadWithin) Needs() evidence.Needs {
	return evidence.Needs{
		Watches:         evidence.Ordered,
		MovedByNodeLoss: true,
		Soon:            true,
		Parts:           []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads},
	}
}

// Of implements WorkloadInvariant.
func (p SpreadWithin) Of(w history.Workload) (list []Invariant) {
	if p.Workload != "" && p.Workload != w.Name {
		return nil
	}
	p.Workload = w.Name
	if p.TopologyKey != "" {
		return []Invariant{p}
	}
	var constraints []struct {
		MaxSkew           int    `json:"maxSkew"`
		TopologyKey       string `json:"topologyKey"`
		WhenUnsatisfiable string `json:"whenUnsatisfiable"`
		MinDomains        int    `json:"minDomains"`
	}
	if json.Unmarshal(w.Spread, &constraints) != nil {
		return nil // most workloads have none
	}
	for _, c := range constraints {
		if c.WhenUnsatisfiable == "DoNotSchedule" {
			p.TopologyKey, p.Max, p.MinDomains = c.TopologyKey, c.MaxSkew, c.MinDomains
			list = append(list, p)
		}
	}
	return list
}

// Watched implements WatchingInvariant. The limit counts from when the workload has settled, which may take as long.
func (p SpreadWithin) Watched() time.Duration { return 2 * p.Limit }

// Judge implements EventInvariant.
func (p SpreadWithin) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	began, seen, ok := f.LastFault()
	if !ok || len(ambiguous) > 0 { // FaultsActive reports a fault that was never seen
		return verdict.Verdict{}.Unknown(missing)
	}
	l := spread.FollowDistribution(f, key, p.TopologyKey, false)
	recorded := f.Record.Header.Recorded != nil
	switch {
	case !recorded:
		missing = append(missing, l.Doubts(key.Name)...)
	case !l.AtEnd: // of a recording nobody asked that each number of replicas is seen
		missing.Add("%s was not settled at the end", key.Name)
	}
	if recorded {
		p.count(f, key, l)
	}
	v := verdict.Verdict{}
	ledger := spread.FollowSkew(f, p.TopologyKey, key)
	ledger.Count(&v, p.Max)
	l.Blame(ledger, p.Max)
	r := p.follow(l, began)
	v.Measure("allowedSkew", float64(p.Max))
	v.Measure("limitSeconds", p.Limit.Seconds())
	v.Measure("largestSkew", float64(r.worst))
	var told *spread.SkewChange
	for _, placed := range l.Distributions {
		if placed.At >= began {
			v.Support(placed.Evidence(fmt.Sprintf("%s: %s, skew %d", prose.Moment(placed.At), placed, placed.Skew()), &told)...)
		}
	}
	if r.last == nil && recorded && len(missing) == 0 {
		return v.NotTested(fmt.Sprintf("%s was never seen settled with a skew above %d over %s", key.Name, p.Max, p.TopologyKey))
	}
	if r.last == nil {
		missing.Add("%s was never seen settled with a skew above %d after the fault began at %s: there was nothing to restore",
			key.Name, p.Max, prose.Moment(began))
		return v.Unknown(missing)
	}
	from := since{seen, "the fault was seen"}
	if recorded {
		from = since{r.since, "it was unbalanced"}
	}
	return p.verdict(f, v, missing, key.Name, from, r)
}

// count counts pods and domains as the scheduler does.
func (p SpreadWithin) count(f *evidence.Run, key history.Key, l spread.Distributions) {
	ledger, own := placement.NewLedger(f.Record), chosenBy(f.Record, []history.Key{key})
	for _, placed := range l.Distributions {
		counts := ledger.Counted(own, p.TopologyKey, placed.At)
		if counts == nil {
			continue
		}
		maps.DeleteFunc(counts, func(domain string, _ int) bool { _, open := placed.Counts[domain]; return !open })
		if len(counts) < p.MinDomains {
			counts[missingDomain] = 0
		}
		placed.Counts = counts
	}
}

// missingDomain stands for those that minDomains asks for and that are not there.
const missingDomain = "(missing)"

func (p SpreadWithin) verdict(f *evidence.Run, v verdict.Verdict, missing verdict.Missing, name string, from since, r restoration) verdict.Verdict {
	seen, deadline := from.at, from.at+p.Limit
	if r.good == nil {
		watched := f.End() - seen
		v.Measure("watchedSeconds", watched.Seconds())
		if f.Unseen(deadline, f.End()) || r.last.Blind {
			return v.Unknown(append(missing, "where the pods were at the end is unknown: a watch had a gap"))
		}
		if watched < p.Limit {
			missing.Add("the spread of %s was not restored when the record ended, %s after %s: %s", name, prose.Moment(watched), from.words, r.last)
			return v.Unknown(missing)
		}
		if unsure := f.MayBeInTime(&v, seen, f.End(), p.Limit); len(unsure) > 0 {
			return v.Unknown(append(missing, unsure...))
		}
		v.At = deadline
		return v.Violated(missing, "the spread of %s was not restored %s after %s at %s: %s, skew %d, and %d is allowed",
			name, prose.Moment(watched), from.words, prose.Moment(seen), r.last, r.last.Skew(), p.Max)
	}
	took := max(0, r.good.At-seen)
	v.Measure("restoredSeconds", took.Seconds())
	v.AtMost("restoredSeconds", p.Limit.Seconds())
	if took > p.Limit {
		if f.Unseen(deadline, r.good.At) {
			return v.Unknown(append(missing, "when the spread was restored is unknown: a watch had a gap"))
		}
		if unsure := f.MayBeInTime(&v, seen, r.good.At, p.Limit); len(unsure) > 0 {
			return v.Unknown(append(missing, unsure...))
		}
		v.At = deadline
		return v.Violated(missing, "the spread of %s was restored %s after %s at %s, and %s was the limit: %s",
			name, prose.Moment(took), from.words, prose.Moment(seen), p.Limit, r.good)
	}
	missing = append(missing, f.MayBeTooLate(seen, r.good.At, p.Limit)...)
	return v.Held(missing, "the spread of %s was restored %s after %s at %s: from %s, skew %d, to %s, skew %d",
		name, prose.Moment(took), from.words, prose.Moment(seen), r.from, r.worst, r.good, r.good.Skew())
}

// restoration is how a spread was restored.
type restoration struct {
	from, last *spread.Distribution // the worst and the last that were too uneven
	good       *spread.Distribution // the one with which it was finally restored; nil: none
	worst      int                  // the skew of the worst one
	since      history.Offset       // when the first of those was seen after which none was even enough, until good
}

func (p SpreadWithin) follow(l spread.Distributions, from history.Offset) (r restoration) {
	for _, placed := range l.Distributions {
		switch skew := placed.Skew(); {
		case placed.At < from:
		case skew > p.Max:
			if skew >= r.worst {
				r.from, r.worst = placed, skew
			}
			if r.last == nil || r.good != nil {
				r.since = placed.At
			}
			r.last, r.good = placed, nil
		case r.good == nil && r.last != nil:
			r.good = placed
		}
	}
	return r
}
