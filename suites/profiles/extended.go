package profiles

import (
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// Extended is what happens to a cluster without anybody's doing, and what clients of other kinds see of what is done on
// purpose. About ten minutes a side.
var Extended = scenario.DescribeProfile(scenario.Profile{
	Name: "Extended",
	Features: []scenario.Feature{
		{Name: "node kill", Scenarios: []scenario.Spec{chaos.KillOneWorker, chaos.KillOneWorkerBehindAGateway}},
		{Name: "zone loss", Scenarios: []scenario.Spec{chaos.PartitionOneZoneBehindAGateway}},
		{Name: "control plane", Scenarios: []scenario.Spec{chaos.SchedulerAway, chaos.ControllerManagerAway}},
		{Name: "long-lived connections", Scenarios: []scenario.Spec{chaos.EveryLaneDrain, chaos.EveryLaneRollingUpdate}},
	},
})
