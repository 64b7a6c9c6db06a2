package conformance

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
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
