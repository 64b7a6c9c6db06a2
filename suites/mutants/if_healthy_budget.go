package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// IfHealthyBudget is Kubernetes' own default: a pod that serves nobody holds up the drain of its node.
var IfHealthyBudget = scenario.Mutate(chaos.DrainFromACrashLoop, scenario.Mutation{
	Name:     "mutants/if-healthy-budget",
	Removed:  "unhealthyPodEvictionPolicy AlwaysAllow",
	CaughtBy: invariant.DrainCompletes{},
	Break:    func(s *scenario.Spec) { s.Backend.Budget.UnhealthyPodEvictionPolicy = "IfHealthyBudget" },
})
