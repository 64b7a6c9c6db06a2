package incidents

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/suites/mutants"
)

// ScaledToTenAndNoFaster is about connections that never end.
var ScaledToTenAndNoFaster = scenario.Retell(scenario.Incident{
	Incident: history.Incident{
		Name: "scaled-to-ten-and-no-faster",
		Story: "Three replicas were at their limit, and were scaled to ten. All ten became ready, and nothing got faster: the old three " +
			"went on carrying the whole load.",
		Symptom: "New pods get no requests, and the old ones stay as busy as they were; an autoscaler goes on adding pods.",
		Cause: "A Service chooses a pod for a connection, not for a request. Clients that keep their connections never meet a pod that " +
			"came later.",
		Fix: "The server ends each connection after so many requests (Connection: close), in order, so that no request is lost. After 100, " +
			"each new pod has its share within seconds; after 1,000, the new pods together have theirs within a minute, and a single one " +
			"may still have little.",
	},
	Scenarios: []scenario.Spec{mutants.ConnectionsNeverEnd, chaos.NewPodsShareTheLoad, chaos.NewPodsShareTheLoadLate},
})
