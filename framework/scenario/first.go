package scenario

import (
	"slices"
)

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
