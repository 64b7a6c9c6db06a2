package profiles

import (
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// Extended covers unplanned faults, and planned operations as clients of other kinds see them. About ten minutes per side.
var Extended = scenario.DescribeProfile(scenario.Profile{
	Name: "Extended",
	Features: []scenario.Feature{
		{Name: "node kill", Scenarios: []scenario.Spec{chaos.KillOneWorker, chaos.KillOneWorkerBehindAGateway}},
		{Name: "zone loss", Scenarios: []scenario.Spec{chaos.PartitionOneZoneBehindAGateway}},
		{Name: "control plane", Scenarios: []scenario.Spec{chaos.SchedulerAway, chaos.ControllerManagerAway}},
		{Name: "long-lived connections", Scenarios: []scenario.Spec{chaos.EveryLaneDrain, chaos.EveryLaneRollingUpdate}},
	},
})
