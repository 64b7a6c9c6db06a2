package upgrade

import (
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// noPreStop removes the preStop sleep from the workload of every scenario, as mutants/no-prestop does.
var noPreStop = Regression{
	Name:  "no-prestop",
	Does:  "the workload ends without a preStop sleep, while clients still connect",
	Cause: string(attribution.CauseLateEndpoint),
	workload: func(s *scenario.Spec) {
		s.Backend.PreStop = workloads.NoPreStop
	},
}
