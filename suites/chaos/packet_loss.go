package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// PacketLoss is a bad cable: packets are retransmitted, so only time is lost. A gateway that allows each try 750 ms before it
// tries another pod fails no request.
var PacketLoss = scenario.Describe(scenario.Spec{
	Name:     "chaos/packet-loss",
	Claim:    "when every tenth packet to and from a worker is lost, no request fails behind a gateway with time-outs and retries",
	Cluster:  threeNodes,
	Gateway:  &workloads.Gateway{},
	Load:     scenario.DefaultLoad,
	Faults:   []fault.Fault{fault.PacketLoss{Percent: 10}},
	Hold:     20 * time.Second,
	Promises: []invariant.Invariant{invariant.NoFailedRequests{}},
	About:    80 * time.Second,
	Full:     true,
})
