package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Latency delays every packet from one worker. The scenario is reported as not supported on a kernel without netem.
var Latency = scenario.Describe(scenario.Spec{
	Name:     "chaos/latency",
	Claim:    "when every packet from a worker takes 100 ms longer, no request fails behind a gateway with time-outs and retries",
	Cluster:  threeNodes,
	Gateway:  &workloads.Gateway{},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.Latency{Delay: 100 * time.Millisecond}},
	Hold:     20 * time.Second,
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}},
	About:    70 * time.Second,
	Full:     true,
})
