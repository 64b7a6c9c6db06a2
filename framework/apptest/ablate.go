package apptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// ablation is the suite of the scenarios without a practice.
const ablation = "ablate"

// noFailedRequests is the promise by which a missing practice is noticed.
var noFailedRequests = invariant.Kind(invariant.NoFailedRequests{})

// Ablation is a practice that is taken away, in several scenarios.
type Ablation struct {
	Practice
	Workload string
	Twin     string   // the scenario with the practice
	Without  []string // the scenarios without it
}

// Ablate returns the scenarios of a test that are needed as twins, and after them, times times, each practice's scenario without it. A
// practice that protects nothing is no failure, so its scenarios count as caught by chance.
func (t Test) Ablate(times int) (specs []scenario.Spec, list []Ablation, err error) {
	t.Faults = nil
	if err := errors.Join(t.Findings().Err(), t.validate()); err != nil {
		return nil, nil, err
	}
	probed := t.probed()
	var broken []scenario.Spec
	for _, w := range t.App.Workloads {
		probes := probed[w.Name]
		if len(probes) == 0 {
			continue
		}
		for _, p := range Practices(t.App, w) {
			twin, err := t.scenario(w, p.Fault, probes, len(probed) > 1)
			if err != nil {
				return nil, nil, err
			}
			if !slices.ContainsFunc(specs, func(s scenario.Spec) bool { return s.Name == twin.Name }) {
				specs = append(specs, twin)
			}
			a := Ablation{Practice: p, Workload: w.Name, Twin: twin.Name}
			for n := range times {
				one, err := t.without(w, p, twin, n)
				if err != nil {
					return nil, nil, err
				}
				a.Without, broken = append(a.Without, one.Name), append(broken, one)
			}
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return nil, nil, fmt.Errorf("there is nothing to take away: the manifests of %s have no preStop hook, readiness probe, budget, spread "+
			"constraint, affinity, strategy or replicas", names(t.App.Workloads))
	}
	return append(specs, broken...), list, nil
}

// without is a scenario without a practice.
func (t Test) without(w app.Workload, p Practice, twin scenario.Spec, n int) (scenario.Spec, error) {
	changed, err := p.without()
	if err != nil {
		return scenario.Spec{}, fmt.Errorf("take away %s: %w", p.Removed, err)
	}
	s := twin
	s.App = &changed
	s.Name = fmt.Sprintf("%s/%s-%s-%d", ablation, p.Name, w.Name, n+1)
	s.Claim = fmt.Sprintf("without %s, %s loses requests", p.Removed, twin.Name)
	if i := slices.IndexFunc(changed.Workloads, func(other app.Workload) bool { return other.Name == w.Name }); i >= 0 {
		made := Faults[p.Fault].make(changed.Workloads[i]) // scaling depends on the replicas
		s.Faults = made.Faults
	}
	s.Mutant = &history.Mutant{
		Removed: p.Removed, CaughtBy: noFailedRequests, Twin: twin.Name, ByChance: true,
	}
	return s, s.Validate()
}

func names(list []app.Workload) string {
	var all []string
	for _, w := range list {
		all = append(all, w.Kind()+" "+w.Name)
	}
	return strings.Join(all, ", ")
}

// Table says of each practice what happened without it.
func Table(list []Ablation, f history.RunFile) string {
	outcome := map[string]history.ScenarioResult{}
	for _, s := range f.Scenarios {
		outcome[s.Name] = s
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"where", "practice", "tried under", "without it"})
	for _, a := range list {
		t.AppendRow(table.Row{a.Place, a.Removed, a.Twin, a.worth(outcome)})
	}
	return t.Render()
}

// worth says in how many of its scenarios requests were lost without a practice.
func (a Ablation) worth(outcome map[string]history.ScenarioResult) string {
	if with := outcome[a.Twin]; with.Outcome != string(verdict.Held) {
		return fmt.Sprintf("not known: with it, %s was %s", a.Twin, orNothing(with.Outcome))
	}
	lost, judged := 0, 0
	for _, name := range a.Without {
		s := outcome[name]
		if s.Outcome == string(verdict.Unknown) || s.Outcome == "" {
			continue
		}
		judged++
		if broke(s) {
			lost++
		}
	}
	switch {
	case judged == 0:
		return "not known: no run without it could be judged"
	case lost == 0:
		return fmt.Sprintf("not noticed in %d of %d: nothing shows that it protects anything, or the probes do not exercise it", judged, judged)
	}
	return fmt.Sprintf("requests were lost in %d of %d", lost, judged)
}

// broke reports whether requests were lost in a scenario.
func broke(s history.ScenarioResult) bool {
	return slices.ContainsFunc(s.Verdicts, func(raw json.RawMessage) bool {
		var v verdict.Verdict
		return json.Unmarshal(raw, &v) == nil && v.Kind == noFailedRequests && v.Outcome == verdict.Violated
	})
}

func orNothing(outcome string) string {
	if outcome == "" {
		return "not judged"
	}
	return outcome
}
