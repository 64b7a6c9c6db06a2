package invariant

import (
	"fmt"
	"slices"
)

// Spread promises that whenever a workload has settled, from Deploy to the end of Recovered, the difference between the
// fullest and the emptiest domain of a topology is at most Max. Settled means that its Deployment and its pods agree
// that all replicas are there, ready, and none is going.
//
// Domains are those of the nodes that match the workload's node selector and carry the topology's label. A node that is
// lost, cordoned or tainted against new pods makes no domain, unless pods of the workload are still on it: which
// taints the workload tolerates is not in the record.
//
// Spread is a rule of scheduling: pods that leave do not move others. So a bad spread is said to be the scheduler's
// choice, or the decay of a scale-down or rollout, or the doing of a lost node; and which change took it above Max. The
// figures "cause.scheduler", "cause.rollout" and so on say how often each cause made more skew than that, for a while or to
// stay.
//
// Evidence: two domains, at least one replica, no pod outside of the domains, every number of replicas that was asked
// for seen settled, and the workload settled at the end.
type Spread struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// TopologyKey is the node label that names the domain, for example topology.kubernetes.io/zone.
	TopologyKey string `json:"topologyKey"`
	// Max is the largest difference that is allowed.
	Max int `json:"max"`
	// Waiting lets pods wait: a workload has settled when each of its pods is ready or the scheduler has found no node for
	// it, and those that have a node are compared. For workloads of which a part is meant to find no place.
	Waiting bool `json:"waiting,omitempty"`
}

func (p Spread) String() string {
	who := p.Workload
	if who == "" {
		who = "the workload"
	}
	if p.Waiting {
		return fmt.Sprintf("%s is spread over %s with a skew of at most %d whenever all of it is ready or finds no node", who, p.TopologyKey, p.Max)
	}
	return fmt.Sprintf("%s is spread over %s with a skew of at most %d whenever it has settled", who, p.TopologyKey, p.Max)
}

func (p Spread) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.inOrder(f.begin()), f.faultsBit(true), missing)
	if len(missing) > 0 {
		return Verdict{}.unknown(d)
	}
	l := followDistribution(f, key, p.TopologyKey, p.Waiting)
	d = append(d, l.doubts(key.Name)...)
	v := Verdict{}
	ledger := followSkew(f, p.TopologyKey, key)
	ledger.count(&v, p.Max)
	l.blame(ledger, p.Max)
	worst, bad, first := p.weigh(l)
	fewest, most := l.domains()
	v.measure("settledStates", float64(len(l.distributions)))
	v.measure("badStates", float64(bad))
	v.measure("allowedSkew", float64(p.Max))
	if worst != nil {
		v.measure("largestSkew", float64(worst.skew()))
		v.measure("domains", float64(most))
		v.measure("fewestDomains", float64(fewest))
	}
	if first != nil {
		v.At = first.at
		var told *skewChange
		for _, placed := range l.distributions {
			if placed.skew() > p.Max {
				v.support(placed.evidence(fmt.Sprintf("%s: %s", moment(placed.at), placed), &told)...)
			}
		}
		return v.violated(d, "%s was spread at %s as %s: skew %d, and %d is allowed; %s",
			key.Name, moment(first.at), first, first.skew(), p.Max, first.why)
	}
	for _, placed := range l.distributions {
		v.support(fmt.Sprintf("%s: %s, skew %d", moment(placed.at), placed, placed.skew()))
	}
	if worst == nil || bad > 0 { // bad ones were seen only while a watch was blind
		return v.unknown(append(d, f.late(f.begin())...))
	}
	return v.held(d, "%s was settled in %s (%s), with a skew of at most %d over %s of %s",
		key.Name, count(len(l.distributions), "state"), l.replicas(), worst.skew(), l.overDomains(), p.TopologyKey)
}

// weigh finds the distribution with the largest skew, and the first of those that surely have too much.
func (p Spread) weigh(l distributions) (worst *distribution, bad int, first *distribution) {
	for _, placed := range l.distributions {
		if worst == nil || placed.skew() > worst.skew() {
			worst = placed
		}
		if placed.skew() > p.Max {
			if bad++; first == nil && !placed.blind {
				first = placed
			}
		}
	}
	return worst, bad, first
}
