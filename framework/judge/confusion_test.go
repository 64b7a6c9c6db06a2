package judge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestReportedCause(t *testing.T) {
	for name, s := range map[string]struct {
		outcome verdict.Outcome
		numbers map[string]float64
		want    attribution.Cause
	}{
		"the largest":                    {verdict.Violated, map[string]float64{"cause.restart": 3, "cause.slow": 2, "failed": 9}, "restart"},
		"of two that are equal":          {verdict.Violated, map[string]float64{"cause.b": 3, "cause.a": 3}, "a"},
		"in words of another promise":    {verdict.Violated, map[string]float64{"cause.scale-down": 1}, "scale-down"},
		"most are unknown":               {verdict.Violated, map[string]float64{"cause.restart": 3, "cause.unknown": 4}, "none"},
		"no numbers":                     {verdict.Violated, nil, "none"},
		"failures that broke no promise": {verdict.Held, map[string]float64{"cause.node-lost": 9}, "none"},
		"a verdict without evidence":     {verdict.Unknown, map[string]float64{"cause.node-lost": 9}, "none"},
	} {
		if got := judge.ReportedCause(verdict.Verdict{Outcome: s.outcome, Numbers: s.numbers}); got != s.want {
			t.Errorf("%s: %s, want %s", name, got, s.want)
		}
	}
}

func TestConfusion(t *testing.T) {
	var c judge.Confusion
	if agree, of := c.Agree(); agree != 0 || of != 0 || c.Count("a", "a") != 0 {
		t.Errorf("an empty one: %d of %d", agree, of)
	}
	add := func(planted, reported string, caught float64) {
		c.Add(history.Mutant{CaughtBy: "NoFailedRequests", Cause: planted}, verdict.Verdict{
			Kind: "Caught", Numbers: map[string]float64{"cause." + reported: 1, verdict.CaughtNumber: caught},
		})
	}
	add("restart", "restart", 1)
	add("restart", "restart", 1)
	add("late-endpoint", "restart", 0)
	add("node-lost", "node-lost", 0) // it was not caught, whatever was seen
	add("", "restart", 1)            // of an old record
	if agree, of := c.Agree(); agree != 2 || of != 4 {
		t.Errorf("%d of %d agree", agree, of)
	}
	if diff := cmp.Diff([]attribution.Cause{"late-endpoint", "node-lost", "restart"}, c.Planted); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]attribution.Cause{"none", "restart"}, c.Reported); diff != "" {
		t.Error(diff)
	}
	for pair, want := range map[[2]attribution.Cause]int{
		{"restart", "restart"}: 2, {"late-endpoint", "restart"}: 1, {"node-lost", "none"}: 1, {"restart", "none"}: 0,
	} {
		if got := c.Count(pair[0], pair[1]); got != want {
			t.Errorf("%v: %d, want %d", pair, got, want)
		}
	}
}
