package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SpreadTogether promises that whenever every workload in the record has settled, until the first revert begins, the pods of all of
// them combined, Deployments and StatefulSets alike, are spread over the domains of a topology with a skew of at most Max. It is
// for workloads that their users see as one.
//
// The state after a revert is not judged, because a scale-down ignores the spread. Domains are those of Spread; all workloads must
// have the same node selector.
//
// Evidence: two workloads, two domains, all workloads settled when the first revert begins, and no pod outside of the domains.
type SpreadTogether struct {
	// TopologyKey and Max are Spread's.
	TopologyKey string `json:"topologyKey"`
	Max         int    `json:"max"`
}

func (p SpreadTogether) String() string {
	return fmt.Sprintf("the pods of all workloads together are spread over %s with a skew of at most %d whenever all have settled",
		p.TopologyKey, p.Max)
}

// Needs implements Invariant.
func (p SpreadTogether) Needs() evidence.Needs {
	return evidence.Needs{MovedByNodeLoss: true, Parts: []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads}}
}

// AboutPlacement implements PlacementInvariant.
func (p SpreadTogether) AboutPlacement() {}

// Judge implements EventInvariant.
func (p SpreadTogether) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	keys := evidence.Deployments(f.Record)
	if more := evidence.UnclearSelectors(f.Record, keys...); len(more) > 0 {
		return verdict.Verdict{}.Unknown(append(missing, more...))
	}
	who := byKind(f.Record, keys)
	if len(keys) < 2 {
		missing.Add("the record has %s, and a combined spread needs at least 2", who)
	}
	until, ok := f.FirstRevert()
	if !ok || len(keys) == 0 { // without a revert, which FaultsActive reports
		return verdict.Verdict{}.Unknown(missing)
	}
	all := p.follow(f, keys, until)
	v := verdict.Verdict{}
	ledger := spread.FollowSkew(f, p.TopologyKey, keys...)
	ledger.Count(&v, p.Max)
	all.Blame(ledger, p.Max)
	worst, bad, first := Spread{TopologyKey: p.TopologyKey, Max: p.Max}.weigh(all)
	if !all.AtEnd {
		missing.Add("not all of %s had settled when the first revert began at %s", who, prose.Moment(until))
	}
	var told *spread.SkewChange
	for _, placed := range all.Distributions {
		v.Support(placed.Evidence(fmt.Sprintf("%s: %s, skew %d", prose.Moment(placed.At), placed, placed.Skew()), &told)...)
		if len(placed.Counts) < 2 || placed.Outside > 0 {
			missing.Add("at %s there were %s, and %s in none", prose.Moment(placed.At), prose.Count(len(placed.Counts), "domain"), prose.Count(placed.Outside, "pod"))
			break
		}
	}
	v.Measure("settledStates", float64(len(all.Distributions)))
	v.Measure("allowedSkew", float64(p.Max))
	if worst != nil {
		v.Measure("largestSkew", float64(worst.Skew()))
		v.AtMost("largestSkew", float64(p.Max))
	}
	if first != nil {
		v.At = first.At
		return v.Violated(missing, "the pods of %s were at %s combined %s: skew %d, and %d is allowed", who, prose.Moment(first.At), first, first.Skew(), p.Max)
	}
	if worst == nil || bad > 0 { // bad states were recorded only during a gap of a watch
		return v.Unknown(missing)
	}
	return v.Held(missing, "the pods of %s were together at most %d apart over %s of %s, in %s",
		who, worst.Skew(), all.OverDomains(), p.TopologyKey, prose.Count(len(all.Distributions), "settled state"))
}

// byKind counts workloads: "8 Deployments and 4 StatefulSets".
func byKind(run history.Run, keys []history.Key) string {
	stateful := make(map[history.Key]bool)
	for _, e := range run.Events {
		if e.Workload != nil && e.Workload.StatefulSet {
			stateful[history.Key{Namespace: e.Workload.Namespace, Name: e.Workload.Name}] = true
		}
	}
	var parts []string
	if n := len(keys) - len(stateful); n > 0 || len(stateful) == 0 {
		parts = append(parts, prose.Count(n, "Deployment"))
	}
	if n := len(stateful); n > 0 {
		parts = append(parts, prose.Count(n, "StatefulSet"))
	}
	return prose.List(parts)
}

// follow records every state before until in which all workloads had settled and that differs from the previous one.
func (p SpreadTogether) follow(f *evidence.Run, keys []history.Key, until history.Offset) (all spread.Distributions) {
	from, placer := f.Begin(), spread.NewPlacer(p.TopologyKey)
	evidence.Moments(f.Record, func(at history.Offset, s *history.State) {
		if at < from || at >= until {
			return
		}
		var together history.Workload
		var pods []history.Pod
		all.AtEnd = !slices.ContainsFunc(keys, func(key history.Key) bool {
			w, ok := evidence.Settled(s, key)
			pods = append(pods, evidence.LivePods(s, w)...)
			together.NodeSelector, together.Replicas = w.NodeSelector, together.Replicas+w.Replicas
			return !ok
		})
		if !all.AtEnd {
			return
		}
		placed := placer.Place(s, together, pods)
		placed.At, placed.Blind = at, f.Blind(at)
		if last := all.Last(); last != nil && last.Same(placed) {
			last.Blind = last.Blind && placed.Blind
		} else {
			all.Distributions = append(all.Distributions, placed)
		}
	})
	return all
}
