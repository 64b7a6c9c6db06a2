package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// CoreDNSAway takes cluster DNS away. Clients that use the Service's address do not need it.
var CoreDNSAway = scenario.Describe(scenario.Spec{
	Name:    "chaos/coredns-away",
	Claim:   "half a minute without cluster DNS is invisible to clients that use a Service by its address",
	Cluster: smallCluster,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentAway{Component: fault.CoreDNS, For: 30 * time.Second}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: time.Minute},
	},
	About: 2 * time.Minute,
	Full:  true,
})

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
