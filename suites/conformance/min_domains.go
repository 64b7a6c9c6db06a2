package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// MinDomains counts zones that do not exist (yet) as empty domains. It is for workloads that should rather wait for a fourth
// zone than crowd three.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#topologyspreadconstraints-field
var MinDomains = scenario.Describe(scenario.Spec{
	Name:                "conformance/min-domains",
	Claim:               "with minDomains 4 and maxSkew 1, 3 zones take one replica each, and the fourth stays pending",
	Backend:             workloads.Backend{Replicas: 3, Spread: []workloads.Spread{{Key: workloads.Zone, MinDomains: 4}}},
	SchedulableReplicas: 3,
	Faults:              []fault.Fault{fault.Scale{Through: []int{4}}},
	Hold:                3 * time.Second, // to see that pending pods stay pending
	Promises:            []invariant.Invariant{invariant.Placed{Workload: "backend", Pending: 1}},
	Full:                true,
})
