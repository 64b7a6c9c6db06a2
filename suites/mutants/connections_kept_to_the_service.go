package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsKeptToTheService goes through a gateway that knows node ports and not pods, and keeps its connections. Each
// leads to one pod for as long as it lasts, and that pod's end, which its endpoint announces, is nothing to the gateway: the
// requests go on until the server itself sends them away, after its preStop sleep.
var ConnectionsKeptToTheService = scenario.Mutate(chaos.NewConnectionsEndInTime, scenario.Mutation{
	Name:     "mutants/connections-kept-to-the-service",
	Removed:  "connections that are made anew for each request",
	CaughtBy: invariant.QuietWithin{},
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6
		s.Gateway = &workloads.Gateway{}
	},
})
