package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/workloads"
)

// ConnectionsKeptToTheService goes through a gateway that knows node ports, not pods, and keeps its connections. Each
// connection leads to one pod for as long as it lasts. The gateway does not see that the pod's endpoint is terminating, so
// requests continue until the server itself closes the connection, after its preStop sleep.
var ConnectionsKeptToTheService = scenario.Mutate(chaos.NewConnectionsEndInTime, scenario.Mutation{
	Name:     "mutants/connections-kept-to-the-service",
	Removed:  "a new connection for each request",
	CaughtBy: invariant.QuietWithin{},
	Reason:   judge.StillReached,
	Break: func(s *scenario.Spec) {
		s.Backend.NodePort, s.NodePorts = 30080, 6
		s.Gateway = &workloads.Gateway{}
	},
})
