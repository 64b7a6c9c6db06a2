package mutants

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// TwoControlPlanes are no better than one: a majority of two etcd members is both, so the remaining member can neither read nor
// write. Clients of the workload do not notice that, either.
//
// Source: https://etcd.io/docs/latest/faq/#what-is-failure-tolerance
var TwoControlPlanes = scenario.Mutate(chaos.KillOneControlPlane, scenario.Mutation{
	Name:     "mutants/two-control-planes",
	Removed:  "a third control plane",
	CaughtBy: invariant.APIAnswersWithin{},
	Reason:   judge.NoQuorum,
	Break:    func(s *scenario.Spec) { s.Cluster.ControlPlanes, s.Hold = 2, 15*time.Second },
})
