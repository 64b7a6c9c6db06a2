package incidents

import (
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// MaintenanceTookUsOut is about nodes that are drained together.
var MaintenanceTookUsOut = scenario.DescribeIncident(scenario.Incident{
	Incident: history.Incident{
		Name: "maintenance-took-us-out",
		Story: "A service ran two replicas on two nodes, without a disruption budget. For an upgrade both nodes were drained at the same " +
			"time. Both pods were evicted at once, and their replacements took longer to start than the old pods took to end.",
		Symptom: "Requests are refused for some seconds in the middle of planned maintenance.",
		Cause:   "Without a budget an eviction is granted at once, whichever other pods are being evicted.",
		Fix: "A PodDisruptionBudget: the second eviction is refused until the replacement of the first is ready. It governs evictions " +
			"only, not deletions, rolling updates or the loss of a node.",
	},
	Scenarios: []scenario.Spec{chaos.NoBudget, chaos.DrainTwoWorkers},
})
