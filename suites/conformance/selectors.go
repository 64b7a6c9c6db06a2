package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// LegalPlacement checks the scheduler itself: the skew that each placement of a pod causes in its domain, at that moment. A
// placement of 3, 2, 1 over three domains has skews 2, 1, 0; a new pod may only go where the resulting skew stays within
// maxSkew.
var LegalPlacement = scenario.Describe(scenario.Spec{
	Name:  "conformance/legal-placement",
	Claim: "through scaling and a rolling update the scheduler never puts a pod where its hard spread constraints forbid it",
	Backend: workloads.Backend{
		Replicas: 6, Spread: []workloads.Spread{{Key: workloads.Zone}, {Key: workloads.Host}},
		PreStop: workloads.NoPreStop, // there is no load to protect
	},
	Faults:   []fault.Fault{fault.Scale{Through: []int{9, 4, 11}}, fault.Rollout{}},
	Hold:     3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{invariant.Placement{}},
	About:    time.Minute,
	Full:     true,
})

// PastTheScheduler has the same constraints, and a spec.nodeName: nothing checks the constraints of pods that bypass the
// scheduler.
var PastTheScheduler = scenario.Mutate(LegalPlacement, scenario.Mutation{
	Name:     "mutants/past-the-scheduler",
	Removed:  "the scheduler (spec.nodeName in the pod template)",
	CaughtBy: invariant.Placement{},
	Reason:   judge.PastScheduler,
	Break:    func(s *scenario.Spec) { s.PinTo, s.Backend.PastScheduler = 1, true },
})

// OneSelectorForSeveral spreads workloads that belong together as one: a constraint counts every pod that its selector matches,
// whichever workload owns it. The pods share a label for it; matchLabelKeys must stay empty, because it would tell the
// workloads apart again.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var OneSelectorForSeveral = scenario.Describe(scenario.Spec{
	Name: "conformance/one-selector-for-several",
	Claim: "8 Deployments and 4 StatefulSets whose constraints select the pods of all of them are spread over 6 nodes as if they " +
		"were one: with 1 replica each, and with 2",
	Backend: workloads.Backend{Replicas: 1, Spread: []workloads.Spread{{
		Key: workloads.Host, MatchLabelKeys: []string{},
		Selector: map[string]string{workloads.LabelComponent: workloads.ComponentBackend},
	}}},
	Trials:       12, // 2 on each of 6 nodes happens by chance in 3 of 1000 runs
	StatefulSets: 4,  // they count like the rest: a constraint sees pods, not their controllers
	Faults:       []fault.Fault{fault.Scale{Through: []int{2}}},
	Hold:         3 * time.Second, // so that the last step is seen settled, too
	Promises:     []invariant.Invariant{invariant.SpreadTogether{TopologyKey: workloads.Host, Max: 1}},
	About:        time.Minute,
	Full:         true,
})

// ASelectorForEach spreads each workload by itself, which does nothing for workloads of one replica: all together they are
// spread by chance.
var ASelectorForEach = scenario.Mutate(OneSelectorForSeveral, scenario.Mutation{
	Name:     "mutants/a-selector-for-each",
	Removed:  "a selector that all workloads share",
	CaughtBy: invariant.SpreadTogether{},
	Reason:   judge.HasNodes,
	Break:    func(s *scenario.Spec) { s.Backend.Spread[0].Selector = nil }, // nil selects the workload's own pods
})

// OneToSevenOnThreeNodes is the arithmetic that every guide begins with: 1-0-0, 1-1-0, 1-1-1, 2-1-1 and so on.
var OneToSevenOnThreeNodes = scenario.Describe(scenario.Spec{
	Name:     "conformance/one-to-seven-on-three-nodes",
	Claim:    "with maxSkew 1 on kubernetes.io/hostname, 1 to 7 replicas over 3 nodes are at most one pod apart at every step",
	Cluster:  ThreeNodes,
	Backend:  workloads.Backend{Replicas: 1, Spread: eachNode},
	Faults:   []fault.Fault{fault.Scale{Through: []int{2, 3, 4, 5, 6, 7}}},
	Hold:     3 * time.Second, // so that the last step is seen settled, too
	Promises: []invariant.Invariant{invariant.Spread{Workload: "backend", TopologyKey: workloads.Host, Max: 1}},
	Full:     true,
})
