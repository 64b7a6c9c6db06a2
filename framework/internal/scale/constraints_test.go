package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/internal/errtest"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

func TestComparison(t *testing.T) {
	bound := func(name string, cpu float64) scaling.Binding {
		return scaling.Binding{Constraint: name, Recorded: 2, Scheduler: scaling.Scheduler{CPU: cpu, Attempt: scaling.Histogram{Sum: 1, Count: 10}}}
	}
	all := []scaling.Constraint{{Name: "none"}, {Name: "hard"}}
	found := map[string][]scaling.Binding{
		"none": {bound("none", 0.1), bound("none", 0.3), bound("none", 0.2)},
		"hard": {bound("hard", 0.6), bound("hard", 0.4)},
	}
	text := comparison(all, found)
	for _, want := range []string{
		"| none | 20 ms (1.00 x; 10 ms to 30 ms) |", "| hard | 50 ms (2.50 x; 40 ms to 60 ms) |", " 2.00 s (1.00 x; 2.00 s to 2.00 s) |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
}

func TestConstraintsRefuses(t *testing.T) {
	for _, args := range [][]string{{}, {"a", "b"}, {"--pods", "0", "a"}, {"--rounds", "0", "a"}, {"--colour", "a"}} {
		want := "want the name of one cluster, and at least one pod and one round"
		if slices.Contains(args, "--colour") {
			want = "flag provided but not defined: -colour"
		}
		errtest.Check(t, constraints(t.Context(), args, &strings.Builder{}), want)
	}
}
