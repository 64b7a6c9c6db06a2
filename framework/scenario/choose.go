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

// First are the scenarios that tell most: a rolling update, a drain, a killed node, a budget and a spread, and a mutant of each. A run with a
// limited time begins with them, and leaves none of them out.
var First = []string{
	"chaos/rolling-update", "mutants/no-prestop",
	"chaos/drain-one-worker", "mutants/no-budget",
	"chaos/kill-one-worker", "mutants/all-on-one-killed-node",
	"conformance/budget-min-available", "mutants/evictions-without-a-budget",
	"conformance/zone-and-node-spread", "mutants/all-on-one-node",
}

// MostTellingFirst are the scenarios with those of First marked, and in front of the others.
func MostTellingFirst(chosen []Spec) []Spec {
	sorted := slices.Clone(chosen)
	for i := range sorted {
		sorted[i].First = slices.Contains(First, sorted[i].Name)
	}
	rank := func(s Spec) int {
		if !s.First {
			return len(First)
		}
		return slices.Index(First, s.Name)
	}
	slices.SortStableFunc(sorted, func(a, b Spec) int { return rank(a) - rank(b) })
	return sorted
}

// maxMeant is how many names are suggested at most for an unknown name.
const maxMeant = 4

// Meant suggests names for an unknown name: those that contain it, or differ from it in at most two letters, with or without the suite.
// For "rolling-updat" it suggests chaos/rolling-update. Empty: no name is similar.
func Meant(typed string, names []string) string {
	near := func(name string) bool {
		short := path.Base(name)
		return distance(typed, name) <= 2 || distance(path.Base(typed), short) <= 2 || len(typed) > 3 && strings.Contains(name, typed)
	}
	var found []string
	for _, name := range names {
		if near(name) {
			found = append(found, name)
		}
	}
	if len(found) == 0 || len(found) > maxMeant {
		return ""
	}
	return "did you mean " + strings.Join(found, " or ") + "?"
}

// Wanted is Meant, or else all names.
func Wanted(typed string, names []string) string {
	return cmp.Or(Meant(typed, names), "want one of "+strings.Join(names, ", "))
}

// distance is how many letters must be inserted, deleted or changed to turn a into b (Levenshtein distance).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = slices.Min([]int{change, diagonal + 1, row[j] + 1})
		}
	}
	return row[len(b)]
}
