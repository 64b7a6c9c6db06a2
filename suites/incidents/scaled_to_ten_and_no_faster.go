package incidents

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// ScaledToTenAndNoFaster is about connections that never end.
var ScaledToTenAndNoFaster = scenario.DescribeIncident(scenario.Incident{
	Incident: history.Incident{
		Name: "scaled-to-ten-and-no-faster",
		Story: "Three replicas were at their limit, and were scaled to ten. All ten became ready, and nothing got faster: the old three " +
			"still carried the whole load.",
		Symptom: "New pods get no requests, and the old ones stay as busy as they were; an autoscaler keeps adding pods.",
		Cause: "A Service chooses a pod for a connection, not for a request. Clients that keep their connections never reach a pod " +
			"that was added later.",
		Fix: "The server closes each connection gracefully after a number of requests (Connection: close), so that no request is lost. " +
			"With 100 requests, each new pod has its share within seconds; with 1,000, the new pods together have theirs within a minute, " +
			"and a single pod may still have little.",
	},
	Scenarios: []scenario.Spec{chaos.ConnectionsNeverEnd, chaos.NewPodsShareTheLoad, chaos.NewPodsShareTheLoadLate},
})
