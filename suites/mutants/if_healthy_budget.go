package mutants

import (
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// IfHealthyBudget uses Kubernetes' default: a pod that serves no requests blocks the drain of its node.
var IfHealthyBudget = scenario.Mutate(chaos.DrainFromACrashLoop, scenario.Mutation{
	Name:     "mutants/if-healthy-budget",
	Removed:  "unhealthyPodEvictionPolicy AlwaysAllow",
	CaughtBy: invariant.DrainCompletes{},
	Reason:   judge.Refused,
	Break:    func(s *scenario.Spec) { s.Backend.Budget.UnhealthyPodEvictionPolicy = "IfHealthyBudget" },
})
