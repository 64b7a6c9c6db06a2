package scenario

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Choose returns the scenarios with these names, or without names those of a scope. A name can be a pattern as in a shell, such as
// "chaos/drain-*". Of them it returns those that have every label; see Spec.Labels.
func Choose(all []Spec, scope string, names, labels []string) ([]Spec, error) {
	if scope != "short" && scope != "full" {
		return nil, fmt.Errorf("scope %q: want short or full", scope)
	}
	if err := checkLabels(all, labels); err != nil {
		return nil, err
	}
	var chosen []Spec
	for _, s := range all {
		named := slices.ContainsFunc(names, func(name string) bool { return matches(name, s.Name) })
		labelled := !slices.ContainsFunc(labels, func(label string) bool { return !slices.Contains(s.Labels(), label) })
		if labelled && (named || len(names) == 0 && (scope == "full" || !s.Full)) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 && len(labels) > 0 {
		return nil, fmt.Errorf("no scenario of those has the labels %s; --scope full has more scenarios", strings.Join(labels, " and "))
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(s Spec) bool { return matches(name, s.Name) }) {
			return nil, fmt.Errorf("unknown scenario %q: %s", name,
				cmp.Or(Meant(name, Names(all)), "see 'holdfast run --list --scope full'"))
		}
	}
	return chosen, nil
}

// matches reports whether a scenario has a name, or a name that a pattern describes.
func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return matched && err == nil || pattern == name
}

// IsPattern reports whether a name has a character with a meaning in patterns.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// Labels are the labels of scenarios, each once.
func Labels(all []Spec) (labels []string) {
	for _, s := range all {
		labels = append(labels, s.Labels()...)
	}
	slices.Sort(labels)
	return slices.Compact(labels)
}

func checkLabels(all []Spec, labels []string) error {
	known := Labels(all)
	for _, label := range labels {
		if !slices.Contains(known, label) {
			return fmt.Errorf("label %q: %s", label, Wanted(label, known))
		}
	}
	return nil
}

// Names are the names of scenarios.
func Names(all []Spec) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// FindIncident finds an incident by its name.
func FindIncident(all []Incident, name string) (Incident, error) {
	i := slices.IndexFunc(all, func(i Incident) bool { return i.Name == name })
	if i < 0 {
		return Incident{}, fmt.Errorf("unknown incident %q: want one of %s", name, strings.Join(IncidentNames(all), ", "))
	}
	return all[i], nil
}

// IncidentNames are the names of incidents.
func IncidentNames(all []Incident) (names []string) {
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// FindProfiles finds profiles by name, in the order of all.
func FindProfiles(all []Profile, names []string) (chosen []Profile, err error) {
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
