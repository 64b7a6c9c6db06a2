package certify

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Plan is what a certification runs.
type Plan struct {
	Profiles []scenario.Profile
	// Scenarios are those of the profiles, each once. They run before the upgrade and after it.
	Scenarios []scenario.Spec
	Upgrade   scenario.Spec
	// Application is the user's own; nil: none was named.
	Application *Application
}

// NewPlan plans a certification of an upgrade. Change is applied to the workload of each scenario, the upgrade's included; a regression
// breaks it there on purpose. With stock, scenarios run with Kubernetes' own timings if they can.
func NewPlan(profiles []scenario.Profile, upgrade scenario.Spec, change func(scenario.Spec) scenario.Spec, stock bool) Plan {
	plan := Plan{Profiles: profiles, Scenarios: scenariosOf(profiles), Upgrade: change(upgrade)}
	for i, s := range plan.Scenarios {
		if s.Stock && stock {
			s = s.InStock()
		}
		plan.Scenarios[i] = change(s)
	}
	return plan
}

// Runs is how many scenarios the runs have together.
func (p Plan) Runs() int {
	if p.Application != nil {
		return 2*len(p.Scenarios) + 2
	}
	return 2*len(p.Scenarios) + 1
}

// About is how long the runs take.
func (p Plan) About() time.Duration {
	sum := p.Upgrade.About
	if p.Application != nil {
		sum += p.Application.Upgrade.About
	}
	for _, s := range p.Scenarios {
		sum += 2 * s.About
	}
	return sum
}

// Apps are the applications whose images the clusters need.
func (p Plan) Apps() []*app.App {
	if p.Application == nil {
		return nil
	}
	return []*app.App{p.Application.Upgrade.App}
}

// scenariosOf are the scenarios of profiles, each once.
func scenariosOf(profiles []scenario.Profile) (all []scenario.Spec) {
	for _, p := range profiles {
		for _, s := range p.Scenarios() {
			if !slices.ContainsFunc(all, func(other scenario.Spec) bool { return other.Name == s.Name }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// notPlanned lists the scenarios of all profiles that are not in the planned ones.
func notPlanned(planned []scenario.Profile) (list []certificate.NotTried) {
	tried := map[string]bool{}
	for _, s := range scenariosOf(planned) {
		tried[s.Name] = true
	}
	for _, p := range scenario.Profiles {
		for _, s := range p.Scenarios() {
			if !tried[s.Name] {
				tried[s.Name] = true
				list = append(list, certificate.NotTried{Name: s.Name, Why: "profile " + p.Name + " was not asked for"})
			}
		}
	}
	return list
}
