package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// SpreadTogether promises that whenever every workload in the record has settled, until the first undo begins, the pods of
// all of them together, Deployments and StatefulSets alike, are spread over the domains of a topology with a skew of at
// most Max. It is for workloads that are one to whoever depends on them, and several to Kubernetes.
//
// What an undo leaves is not judged: a scale-down heeds no spread, of one workload or of several. Domains are as for
// Spread, by the node selector, which must be the same for all.
//
// Evidence: two workloads, two domains, all of them settled when the first undo begins, and no pod outside of the domains.
type SpreadTogether struct {
	// TopologyKey and Max are Spread's.
	TopologyKey string `json:"topologyKey"`
	Max         int    `json:"max"`
}

func (p SpreadTogether) String() string {
	return fmt.Sprintf("the pods of all workloads together are spread over %s with a skew of at most %d whenever all have settled",
		p.TopologyKey, p.Max)
}

func (p SpreadTogether) judge(f *facts) Verdict {
	d := slices.Concat(f.record(f.begin()), f.faultsBit(true))
	keys := deployments(f.run)
	if more := selectsByMore(f.run, keys...); len(more) > 0 {
		return Verdict{}.unknown(append(d, more...))
	}
	who := byKind(f.run, keys)
	if len(keys) < 2 {
		d.add("the record has %s, and fewer than 2 are not spread together", who)
	}
	until, ok := f.firstUndo()
	if !ok || len(keys) == 0 { // without an undo, faultsBit has said why
		return Verdict{}.unknown(d)
	}
	all := p.follow(f, keys, until)
	v := Verdict{}
	ledger := followSkew(f, p.TopologyKey, keys...)
	ledger.count(&v, p.Max)
	all.blame(ledger, p.Max)
	worst, bad, first := Spread{TopologyKey: p.TopologyKey, Max: p.Max}.weigh(all)
	if !all.atEnd {
		d.add("not all of %s had settled when the first undo began at %s", who, moment(until))
	}
	var told *skewChange
	for _, placed := range all.distributions {
		v.support(placed.evidence(fmt.Sprintf("%s: %s, skew %d", moment(placed.at), placed, placed.skew()), &told)...)
		if len(placed.counts) < 2 || placed.outside > 0 {
			d.add("at %s there were %s, and %s in none", moment(placed.at), count(len(placed.counts), "domain"), count(placed.outside, "pod"))
			break
		}
	}
	v.measure("settledStates", float64(len(all.distributions)))
	v.measure("allowedSkew", float64(p.Max))
	if worst != nil {
		v.measure("largestSkew", float64(worst.skew()))
	}
	if first != nil {
		v.At = first.at
		return v.violated(d, "the pods of %s were at %s together %s: skew %d, and %d is allowed", who, moment(first.at), first, first.skew(), p.Max)
	}
	if worst == nil || bad > 0 { // bad ones were seen only while a watch was blind
		return v.unknown(d)
	}
	return v.held(d, "the pods of %s were together at most %d apart over %s of %s, in %s",
		who, worst.skew(), all.overDomains(), p.TopologyKey, count(len(all.distributions), "settled state"))
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
		parts = append(parts, count(n, "Deployment"))
	}
	if n := len(stateful); n > 0 {
		parts = append(parts, count(n, "StatefulSet"))
	}
	return list(parts)
}

// follow notes every state before until in which all workloads had settled, and that differs from the one before.
func (p SpreadTogether) follow(f *facts, keys []history.Key, until history.Offset) (all distributions) {
	from := f.begin()
	moments(f.run, func(at history.Offset, s *history.State) {
		if at < from || at >= until {
			return
		}
		var together history.Workload
		var pods []history.Pod
		all.atEnd = !slices.ContainsFunc(keys, func(key history.Key) bool {
			w, ok := settled(s, key)
			pods = append(pods, livePods(s, w)...)
			together.NodeSelector, together.Replicas = w.NodeSelector, together.Replicas+w.Replicas
			return !ok
		})
		if !all.atEnd {
			return
		}
		placed := place(s, together, pods, p.TopologyKey)
		placed.at, placed.blind = at, f.blind(at)
		if last := all.last(); last != nil && last.same(placed) {
			last.blind = last.blind && placed.blind
		} else {
			all.distributions = append(all.distributions, placed)
		}
	})
	return all
}
