package invariant

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Spread promises that whenever a workload has settled, from Deploy to the end of Recovered, the difference between the fullest and
// the emptiest domain of a topology is at most Max. A workload has settled when its Deployment and its pods agree that exactly its
// replicas exist, all ready.
//
// Domains are those of the nodes that match the workload's node selector and have the topology's label. The domain of a lost,
// cordoned or tainted node counts only while pods of the workload are still on it, because the record lacks the taints that the
// workload tolerates.
//
// Spread is a rule of scheduling: pods that leave do not move others. So the verdict names the cause of a bad spread: the
// scheduler's choice, a scale-down or rollout, or a lost node, with the change that exceeded Max. The numbers "cause.scheduler",
// "cause.rollout" and so on count how often each cause exceeded it, temporarily or permanently.
//
// Evidence: two domains, at least one replica, no pod outside of the domains, a settled state for every wanted number of replicas,
// and the workload settled at the end.
type Spread struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// TopologyKey is the node label that names the domain, for example topology.kubernetes.io/zone.
	TopologyKey string `json:"topologyKey"`
	// Max is the largest difference that is allowed.
	Max int `json:"max"`
	// Waiting lets pods be unschedulable: a workload has settled when each of its pods is ready or unschedulable, and the pods with
	// a node are compared. It is for workloads of which some pods must stay pending.
	Waiting bool `json:"waiting,omitempty"`
}

func (p Spread) String() string {
	who := whose(p.Workload)
	if p.Waiting {
		return fmt.Sprintf("%s is spread over %s with a skew of at most %d whenever each of its pods is ready or unschedulable", who, p.TopologyKey, p.Max)
	}
	return fmt.Sprintf("%s is spread over %s with a skew of at most %d whenever it has settled", who, p.TopologyKey, p.Max)
}

// Needs implements Invariant.
func (p Spread) Needs() evidence.Needs {
	return evidence.Needs{
		Watches:         evidence.Ordered,
		MovedByNodeLoss: true,
		Parts:           []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads},
	}
}

// AboutPlacement implements PlacementInvariant.
func (p Spread) AboutPlacement() {}

// Judge implements EventInvariant.
func (p Spread) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	l := spread.FollowDistribution(f, key, p.TopologyKey, p.Waiting)
	missing = append(missing, l.Doubts(key.Name)...)
	v := verdict.Verdict{}
	ledger := spread.FollowSkew(f, p.TopologyKey, key)
	ledger.Count(&v, p.Max)
	l.Blame(ledger, p.Max)
	worst, bad, first := p.weigh(l)
	fewest, most := l.Domains()
	v.Measure("settledStates", float64(len(l.Distributions)))
	v.Measure("badStates", float64(bad))
	v.Measure("allowedSkew", float64(p.Max))
	if worst != nil {
		v.Measure("largestSkew", float64(worst.Skew()))
		v.AtMost("largestSkew", float64(p.Max))
		v.Measure("domains", float64(most))
		v.Measure("fewestDomains", float64(fewest))
	}
	if first != nil {
		v.At = first.At
		var told *spread.SkewChange
		for _, placed := range l.Distributions {
			if placed.Skew() > p.Max {
				v.Support(placed.Evidence(fmt.Sprintf("%s: %s", prose.Moment(placed.At), placed), &told)...)
			}
		}
		return v.Violated(missing, "%s was spread at %s as %s: skew %d, and %d is allowed; %s",
			key.Name, prose.Moment(first.At), first, first.Skew(), p.Max, first.Why)
	}
	for _, placed := range l.Distributions {
		v.Support(fmt.Sprintf("%s: %s, skew %d", prose.Moment(placed.At), placed, placed.Skew()))
	}
	if worst == nil || bad > 0 { // bad states were recorded only during a gap of a watch
		return v.Unknown(append(missing, f.Late(f.Begin())...))
	}
	return v.Held(missing, "%s was settled in %s (%s), with a skew of at most %d over %s of %s",
		key.Name, prose.Count(len(l.Distributions), "state"), l.Replicas(), worst.Skew(), l.OverDomains(), p.TopologyKey)
}

// weigh finds the distribution with the largest skew, and the first that is certainly too uneven.
func (p Spread) weigh(l spread.Distributions) (worst *spread.Distribution, bad int, first *spread.Distribution) {
	for _, placed := range l.Distributions {
		if worst == nil || placed.Skew() > worst.Skew() {
			worst = placed
		}
		if placed.Skew() > p.Max {
			if bad++; first == nil && !placed.Blind {
				first = placed
			}
		}
	}
	return worst, bad, first
}
