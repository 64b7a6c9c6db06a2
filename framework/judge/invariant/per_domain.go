package invariant

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// PerDomain promises that every Deployment in the record, once it has settled, always has at least AtLeast ready pods that are not
// terminating in each domain of a topology, even during a rollout. Each Deployment is a trial of the same kind: see SpreadTrials.
//
// Domains are those of Spread. With replicas = domains x (AtLeast + maxSkew) - maxSurge and maxUnavailable 0, the scheduler leaves AtLeast
// pods in each domain whenever it binds one. The Deployment controller does not ask it which old pod may go: a rollout that has put more
// new pods into one domain than its share can only remove the old ones of the others. So mostly is what can be promised: see Often.
//
// Evidence: two domains, every Deployment settled at the start and at the end, and a pod that was replaced in between.
type PerDomain struct {
	TopologyKey string `json:"topologyKey"`
	AtLeast     int    `json:"atLeast"`
	// Often is the share of trials, from 0 to below 1, that may break the promise, for claims that are true mostly.
	Often float64 `json:"often,omitempty"`
}

func (p PerDomain) String() string {
	kept := fmt.Sprintf("each domain of %s has at least %s at any time", p.TopologyKey, prose.Count(p.AtLeast, "ready pod"))
	if p.Often > 0 {
		return fmt.Sprintf("in all but at most %s of the trials %s", prose.Percent(p.Often), kept)
	}
	return kept
}

// Needs implements Invariant.
func (p PerDomain) Needs() evidence.Needs {
	return evidence.Needs{MovedByNodeLoss: true, Parts: []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads}}
}

// AboutPlacement implements PlacementInvariant.
func (p PerDomain) AboutPlacement() {}

// Judge implements EventInvariant.
func (p PerDomain) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	keys := evidence.Deployments(f.Record)
	if more := evidence.UnclearSelectors(f.Record, keys...); len(more) > 0 {
		return verdict.Verdict{}.Unknown(append(missing, more...))
	}
	if len(keys) == 0 {
		missing.Add("the record has no Deployment")
	}
	if p.Often < 0 || p.Often >= 1 {
		missing.Add("%s of the trials may break the promise, so it promises nothing", prose.Percent(p.Often))
	}
	v, t, fewest := verdict.Verdict{}, trials{of: len(keys)}, -1
	for _, key := range keys {
		l := spread.FollowDistribution(f, key, p.TopologyKey, false)
		missing = append(missing, l.Doubts(key.Name)...)
		low := p.lowest(f, key)
		if !low.seen {
			continue // which Doubts reports
		}
		if low.left == 0 {
			missing.Add("no pod of %s was replaced", key.Name)
		}
		if fewest < 0 || low.pods < fewest {
			fewest = low.pods
		}
		if low.pods < p.AtLeast && !low.blind {
			t.broke(low.at, fmt.Sprintf("%s at %s: %s had %d, and %d are promised", key.Name, prose.Moment(low.at), low.domain, low.pods, p.AtLeast))
		} else if low.pods < p.AtLeast {
			missing.Add("%s had too few pods in %s, but only during a gap of a watch", key.Name, low.domain)
		}
	}
	t.measure(&v)
	v.Measure("promisedPods", float64(p.AtLeast))
	v.Measure("fewestPods", float64(fewest))
	if p.Often == 0 {
		v.AtLeast("fewestPods", float64(p.AtLeast))
	}
	v.Support(t.broken...)
	if float64(len(t.broken)) > p.Often*float64(t.of) {
		v.At = t.first
		return v.Violated(missing, "some domain of %s had fewer than %s in %s; the fewest were %d", p.TopologyKey, prose.Count(p.AtLeast, "ready pod"), t, fewest)
	}
	return v.Held(missing, "no domain of %s had fewer than %s; fewer than promised in %s", p.TopologyKey, prose.Count(fewest, "ready pod"), t)
}

// lowest is the smallest number of pods that a domain had.
type lowest struct {
	seen   bool
	at     history.Offset
	domain string
	pods   int
	left   int // pods that were replaced
	blind  bool
}

// lowest follows a workload from the moment it first settled.
func (p PerDomain) lowest(f *evidence.Run, key history.Key) (low lowest) {
	from, to := f.Begin(), f.End()
	before := make(map[string]bool) // current pods, by UID
	placer := spread.NewPlacer(p.TopologyKey)
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		if at < from || at >= to {
			return
		}
		if _, ok := evidence.Settled(s, key); !ok && !low.seen {
			return
		}
		w := s.Workloads[key]
		var standing []history.Pod
		now := make(map[string]bool)
		for _, pod := range evidence.LivePods(s, w) {
			now[pod.UID] = true
			if pod.Ready && !pod.Deleting && pod.Node != "" {
				standing = append(standing, pod)
			}
		}
		for uid := range before {
			if !now[uid] {
				low.left++
			}
		}
		before = now
		placed := placer.Place(s, w, standing)
		for _, domain := range slices.Sorted(maps.Keys(placed.Counts)) {
			if pods := placed.Counts[domain]; !low.seen || pods < low.pods {
				low.seen, low.at, low.domain, low.pods, low.blind = true, at, domain, pods, f.Blind(at)
			}
		}
	})
	return low
}
