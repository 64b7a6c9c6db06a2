package chaos

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// APIServerKilled breaks all watches at once and makes every client reconnect.
var APIServerKilled = scenario.Describe(scenario.Spec{
	Name:    "chaos/kube-apiserver-killed",
	Claim:   "the sudden death of the API server is invisible to clients",
	Cluster: controlled,
	Load:    scenario.DefaultLoad,
	Faults:  []fault.Fault{fault.ComponentKill{Component: fault.APIServer}},
	Promises: []invariant.Invariant{
		invariant.NoFailedRequests{},
		invariant.AnswersWithin{},
		invariant.RecoversWithin{Limit: 2 * time.Minute},
	},
	About: 90 * time.Second,
	Full:  true,
})
