package plant

import (
	"github.com/holdfast-ha/holdfast/framework/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// noPreStop is what mutants/no-prestop takes away, from the workload of every scenario.
var noPreStop = Plant{
	Name:  "no-prestop",
	Does:  "the workload ends without a preStop sleep, while clients still connect",
	Cause: string(attribution.CauseLateEndpoint),
	workload: func(s *scenario.Spec) {
		s.Backend.PreStop = workloads.NoPreStop
	},
}
