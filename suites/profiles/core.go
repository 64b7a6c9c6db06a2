package profiles

import (
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
	"github.com/holdfast-ha/holdfast/suites/conformance"
)

// Core covers planned operations that every cluster goes through day by day, and that no client may notice. About five minutes
// per side.
var Core = scenario.DescribeProfile(scenario.Profile{
	Name: "Core",
	Features: []scenario.Feature{
		{Name: "scale", Scenarios: []scenario.Spec{chaos.ScaleUpAndDown}},
		{Name: "rollout", Scenarios: []scenario.Spec{chaos.RollingUpdate}},
		{Name: "drain", Scenarios: []scenario.Spec{chaos.DrainOneWorker}},
		{Name: "pod delete", Scenarios: []scenario.Spec{chaos.DeletePods}},
		{Name: "budgets", Scenarios: []scenario.Spec{conformance.BudgetMinAvailable, conformance.BudgetMaxUnavailable}},
		{Name: "spread", Scenarios: []scenario.Spec{conformance.ZoneAndNodeSpread}},
	},
})
