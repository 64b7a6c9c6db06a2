// Package selection selects the scenarios of a run: by name, by scope, by incident, and by the cluster that they fit.
package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Scenarios returns the named scenarios, or without names the scenarios of a scope.
func Scenarios(all []scenario.Spec, scope string, names []string) ([]scenario.Spec, error) {
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
				cmp.Or(meant(name, Names(all)), "see 'holdfast run --list --scope full'"))
		}
	}
	return chosen, nil
}

// Names are the names of scenarios.
func Names(all []scenario.Spec) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// Incident finds an incident by its name.
func Incident(all []scenario.Incident, name string) (scenario.Incident, error) {
	i := slices.IndexFunc(all, func(i scenario.Incident) bool { return i.Name == name })
	if i < 0 {
		return scenario.Incident{}, fmt.Errorf("unknown incident %q: want one of %s", name, strings.Join(IncidentNames(all), ", "))
	}
	return all[i], nil
}

// IncidentNames are the names of incidents.
func IncidentNames(all []scenario.Incident) (names []string) {
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// Profiles finds profiles by name, in the order of all.
func Profiles(all []scenario.Profile, names []string) (chosen []scenario.Profile, err error) {
	var known []string
	for _, p := range all {
		name := strings.ToLower(p.Name)
		known = append(known, name)
		if slices.ContainsFunc(names, func(asked string) bool { return strings.EqualFold(asked, name) }) {
			chosen = append(chosen, p)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, strings.ToLower(name)) {
			return nil, fmt.Errorf("profile %q: there are %s", name, strings.Join(known, ", "))
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("profile: want at least one of %s", strings.Join(known, ", "))
	}
	return chosen, nil
}
