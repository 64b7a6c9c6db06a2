package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// FiveOverThreeZones places with a spread constraint the replicas that required anti-affinity leaves pending
// (AntiAffinityRequired).
var FiveOverThreeZones = scenario.Describe(scenario.Spec{
	Name:    "conformance/five-over-three-zones",
	Claim:   "a spread constraint places all 5 replicas over 3 zones, 2-2-1",
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{Key: workloads.Zone}}}, // scaling down to more ignores spread
	Faults:  []fault.Fault{fault.Scale{Through: []int{5}}},
	Hold:    3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend"},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	},
	Full: true,
})

// Labels of topology domains other than zones: any node label can be a topologyKey.
const (
	rack  = "rack"
	power = "power"
)

// racked has a worker in each of three racks on each of two power lines. Neither the rack nor the power line can be derived
// from the other, nor from the zone.
var racked = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{rack: {"r1", "r2", "r3"}, power: {"p1", "p2"}},
}

// RacksAndPowerLines spreads over two custom topologies at the same time. Both constraints are hard. They cannot deadlock here,
// because every rack has a node on every power line.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#node-labels
var RacksAndPowerLines = scenario.Describe(scenario.Spec{
	Name: "conformance/racks-and-power-lines",
	Claim: "with a constraint for each of two custom node labels, 1, 4, 5 and 7 replicas over 3 racks and 2 power lines are at most " +
		"one pod apart, every time",
	Cluster: racked,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{Key: rack}, {Key: power}}},
	Trials:  10,
	Faults:  []fault.Fault{fault.Scale{Through: []int{4, 5, 7}}}, // the undo scales to 1: scaling down ignores spread
	Hold:    3 * time.Second,                                     // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: rack, Max: 1},
		invariant.SpreadTrials{TopologyKey: power, Max: 1},
	},
	About: 90 * time.Second,
	Full:  true,
})

// RacksOnly relies on a spread over racks to spread over power lines, too, which happens in some of ten trials only.
var RacksOnly = scenario.Mutate(RacksAndPowerLines, scenario.Mutation{
	Name:     "mutants/racks-only",
	Removed:  "a constraint for power lines",
	CaughtBy: invariant.SpreadTrials{TopologyKey: "power", Max: 1},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread = s.Backend.Spread[:1] },
})

// twoRegions are unequal: zone a is one region, zones b and c are the other.
var twoRegions = clusters.Spec{
	Zones: []string{"a", "b", "c"}, WorkersPerZone: 2,
	PerWorker: map[string][]string{clusters.LabelRegion: {"north", "north", "south", "south", "south", "south"}},
}

// ThreeLayers combines a soft, a hard and a soft constraint. The hard constraint over zones decides first. Where it leaves a
// choice, as for the fourth replica, the preference for even regions selects zone a, and the preference for even nodes an empty
// node there.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#multiple-topologyspreadconstraints
var ThreeLayers = scenario.Describe(scenario.Spec{
	Name: "conformance/three-layers",
	Claim: "with constraints that are soft over 2 unequal regions, hard over 3 zones and soft over nodes, 4 replicas are spread 2-2 " +
		"over regions, 2-1-1 over zones and one per node, every time",
	Cluster: twoRegions,
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{
		{Key: clusters.LabelRegion, Unsatisfiable: workloads.ScheduleAnyway},
		{Key: workloads.Zone},
		{Key: workloads.Host, Unsatisfiable: workloads.ScheduleAnyway},
	}},
	Trials: 10,
	Faults: []fault.Fault{fault.Scale{Through: []int{4}}}, // the undo scales to 1: scaling down ignores spread
	Hold:   3 * time.Second,                               // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: clusters.LabelRegion, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 1},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 1},
	},
	About: 75 * time.Second,
	Full:  true,
})

// NoRegionLayer leaves the choice between zones to chance: in two of three cases the fourth replica is the third in the
// southern region.
var NoRegionLayer = scenario.Mutate(ThreeLayers, scenario.Mutation{
	Name:     "mutants/no-region-layer",
	Removed:  "a constraint over regions",
	CaughtBy: invariant.SpreadTrials{TopologyKey: clusters.LabelRegion, Max: 1},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread = s.Backend.Spread[1:] },
})

// ZoneAndNodeSpread checks every number of replicas from 1 to 7 over three zones of two nodes.
var ZoneAndNodeSpread = scenario.Describe(scenario.Spec{
	Name:  "conformance/zone-and-node-spread",
	Claim: "from 1 to 7 replicas, zones and nodes differ by at most one pod at every step",
	Backend: workloads.Backend{
		Replicas: 1, Spread: []workloads.Spread{{Key: workloads.Zone}, {Key: workloads.Host}},
		PreStop: workloads.NoPreStop, // there is no load to protect
	},
	Steady: before, Recovered: after,
	Faults: []fault.Fault{fault.Scale{Through: []int{2, 3, 4, 5, 6, 7}}},
	Hold:   3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1},
	},
	About: 30 * time.Second,
})

// AllOnOneNode draws every replica to the node of the first.
var AllOnOneNode = scenario.Mutate(ZoneAndNodeSpread, scenario.Mutation{
	Name:     "mutants/all-on-one-node",
	Removed:  "topology spread constraints",
	CaughtBy: invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 1},
	Reason:   judge.HasNodes,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = workloads.NoSpread
		s.Backend.Affinity = []workloads.Affinity{{Key: workloads.Host}}       // to its own pods: the second replica follows the first
		s.Faults, s.Hold = []fault.Fault{fault.Scale{Through: []int{2, 3}}}, 0 // the second replica already breaks the promise
	},
})

// ZoneHardNodeSoft is the set-up that guides recommend: DoNotSchedule over zones, ScheduleAnyway over nodes. The second
// constraint is a preference that the scheduler weighs against others, so it needs many trials.
var ZoneHardNodeSoft = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-hard-node-soft",
	Claim: "with constraints that are hard over 3 zones of 2 nodes and soft over nodes, 6 replicas are spread 2-2-2 and one per " +
		"node, after a rolling update too, every time",
	Backend: workloads.Backend{
		Replicas:  6,                     // with the default spread
		PreStop:   workloads.NoPreStop,   // there is no load to protect
		Readiness: workloads.NoReadiness, // probing a hundred pods would leave too little CPU time to start them
	},
	Trials: 6, // with 10, two cores start 20 pods at once, and nodes are lost for lack of CPU time
	Faults: []fault.Fault{fault.Rollout{}},
	Hold:   3 * time.Second, // so that the rollout is seen settled before its rollback
	Promises: []invariant.Invariant{
		invariant.SpreadTrials{TopologyKey: workloads.Zone, Max: 0},
		invariant.SpreadTrials{TopologyKey: workloads.Host, Max: 0},
	},
	About: 5 * time.Minute,
	Full:  true,
})

// ZoneOutageSoftSpread replaces the rule by a preference: lost zones count as empty domains, but they block nothing. The price
// is that the scheduler may crowd one zone at any other time, too; see FullNodeSoftSpread.
var ZoneOutageSoftSpread = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-soft-spread",
	Claim: "with ScheduleAnyway over zones, replicas lost with a whole zone are ready again in the other two within 40 s, while the zone " +
		"is still away, whatever nodeTaintsPolicy says",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{
		{Key: workloads.Zone, Unsatisfiable: workloads.ScheduleAnyway, NodeTaintsPolicy: workloads.Ignore},
	}},
	Faults: []fault.Fault{fault.ZoneOutage{}},
	Hold:   outageHold,
	Promises: []invariant.Invariant{
		invariant.ReplacedWithin{Workload: "backend", Limit: replacedIn},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
	},
	About: 90 * time.Second,
	Full:  true,
})

// replacedIn is how long the lab profile may take to replace the pods of a zone of two nodes: 10 s until both nodes are marked
// lost, 10 s until the second is tainted for eviction, 5 s of toleration, and the rest for new pods to start.
const replacedIn = 40 * time.Second

// outageHold keeps a zone away for longer than its pods may take to be replaced, so that the undo cannot be what replaced them.
const outageHold = replacedIn + 5*time.Second

// ZoneOutageTaintsPolicyHonor keeps the hard rule and counts only usable nodes. A lost node is tainted, so with Honor its zone
// is no longer a domain. Pods do not move back by themselves when the zone returns: 2-2-2 becomes 3-3-0 until the next rollout.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var ZoneOutageTaintsPolicyHonor = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-taints-policy-honor",
	Claim: "with DoNotSchedule over zones and nodeTaintsPolicy: Honor, replicas lost with a whole zone are ready again in the other two " +
		"within 40 s, while the zone is still away",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{{Key: workloads.Zone}}},
	Faults:  []fault.Fault{fault.ZoneOutage{}},
	Hold:    outageHold,
	Promises: []invariant.Invariant{
		invariant.ReplacedWithin{Workload: "backend", Limit: replacedIn},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
	},
	About: 90 * time.Second,
	Full:  true,
})

// ZoneOutageTaintsPolicyIgnore uses Kubernetes' default: the lost zone still counts as a domain, and keeps a third of the
// replicas pending for as long as it is away.
var ZoneOutageTaintsPolicyIgnore = scenario.Mutate(ZoneOutageTaintsPolicyHonor, scenario.Mutation{
	Name:     "mutants/zone-outage-taints-policy-ignore",
	Removed:  "nodeTaintsPolicy: Honor (the default is Ignore)",
	CaughtBy: invariant.ReplacedWithin{},
	Reason:   judge.NoNode,
	Break: func(s *scenario.Spec) {
		s.Backend.Spread = []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}
	},
})

// ZoneOutageWaitsForTheZone is the deadlock and its third remedy: waiting for the zone to return. With Ignore, the lost zone
// still counts, as an empty domain. A replacement in another zone would be the third pod there, 3 - 0 exceeds maxSkew, and no
// node of the lost zone takes it. In return the spread is 2-2-2 again without any intervention.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var ZoneOutageWaitsForTheZone = scenario.Describe(scenario.Spec{
	Name: "conformance/zone-outage-waits-for-the-zone",
	Claim: "with DoNotSchedule over zones and the default nodeTaintsPolicy, Ignore, the 2 of 6 replicas lost with a zone stay pending " +
		"while it is away, and are ready within a minute once it comes back, 2-2-2",
	Backend: workloads.Backend{Replicas: 6, Spread: []workloads.Spread{{Key: workloads.Zone, NodeTaintsPolicy: workloads.Ignore}}},
	Faults:  []fault.Fault{fault.ZoneOutage{}},
	Hold:    outageHold,
	Promises: []invariant.Invariant{
		invariant.Placed{Workload: "backend", Pending: 2},
		invariant.RecoversWithin{Workload: "backend", Limit: time.Minute}, // two nodes have to start
		invariant.Spread{Workload: "backend", TopologyKey: workloads.Zone, Max: 0},
	},
	About: 90 * time.Second,
	Full:  true,
})
