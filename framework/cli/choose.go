package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// choose returns the scenarios of the incident, the named scenarios, or the scenarios of the scope. told is the incident, if any.
func (f runFlags) choose() (chosen []scenario.Spec, told *history.Incident, err error) {
	if f.incident == "" {
		chosen, err = choose(scenario.All, f.scope, f.names)
		return chosen, nil, err
	}
	if len(f.names) > 0 {
		return nil, nil, errors.New("--incident with scenarios: an incident has its own scenarios")
	}
	i, err := incidentOf(scenario.Incidents, f.incident)
	return i.Scenarios, &i.Incident, err
}

// choose returns the named scenarios, or without names the scenarios of a scope.
func choose(all []scenario.Spec, scope string, names []string) ([]scenario.Spec, error) {
	if scope != "short" && scope != "full" {
		return nil, fmt.Errorf("scope %q: want short or full", scope)
	}
	var chosen []scenario.Spec
	for _, s := range all {
		if slices.Contains(names, s.Name) || len(names) == 0 && (scope == "full" || !s.Full) {
			chosen = append(chosen, s)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s scenario.Spec) bool { return s.Name == name }) {
			return nil, fmt.Errorf("unknown scenario %q: %s", name,
				cmp.Or(meant(name, namesOf(all)), "see 'holdfast run --list --scope full'"))
		}
	}
	return chosen, nil
}

func namesOf(all []scenario.Spec) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func incidentOf(all []scenario.Incident, name string) (scenario.Incident, error) {
	i := slices.IndexFunc(all, func(i scenario.Incident) bool { return i.Name == name })
	if i < 0 {
		return scenario.Incident{}, fmt.Errorf("unknown incident %q: want one of %s", name, strings.Join(incidentNames(all), ", "))
	}
	return all[i], nil
}

func incidentNames(all []scenario.Incident) (names []string) {
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// printList prints scenarios with their claims and, if nothing was named, incidents with their symptoms.
func (f runFlags) printList(out io.Writer, specs []scenario.Spec) error {
	var b strings.Builder
	for _, s := range specs {
		fmt.Fprintf(&b, "%-45s %s\n", s.Name, s.Claim)
	}
	if f.incident == "" && len(f.names) == 0 {
		for _, i := range scenario.Incidents {
			fmt.Fprintf(&b, "--incident %-34s %s\n", i.Name, i.Symptom)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// tell prints the incident that a run reproduces.
func tell(out io.Writer, i *history.Incident) error {
	if i == nil {
		return nil
	}
	_, err := fmt.Fprintf(out, "incident %s\n  story:   %s\n  symptom: %s\n  cause:   %s\n  fix:     %s\n",
		i.Name, i.Story, i.Symptom, i.Cause, i.Fix)
	return err
}
