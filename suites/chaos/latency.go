package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Latency is a long way. On a kernel without netem it is not supported, and says so.
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
