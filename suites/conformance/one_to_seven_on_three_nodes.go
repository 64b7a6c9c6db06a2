package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

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
