package invariant_test

import (
	"math"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

// A person is told what decided: the first verdict that is as bad as all of them together, or that on the mutant.
func TestSumSaysWhatDecided(t *testing.T) {
	verdictOn := func(promise string, o invariant.Outcome) invariant.Verdict {
		return invariant.Verdict{Promise: promise, Outcome: o, Seen: "seen by " + promise}
	}
	held, unknown := verdictOn("one", invariant.Held), verdictOn("two", invariant.Unknown)
	violated, later := verdictOn("three", invariant.Violated), verdictOn("four", invariant.Violated)
	caught := verdictOn("it is caught", invariant.Held)
	for want, s := range map[string]struct {
		found   invariant.Found
		outcome invariant.Outcome
	}{
		"one: seen by one":     {invariant.Found{Verdicts: []invariant.Verdict{held, held}}, invariant.Held},
		"two: seen by two":     {invariant.Found{Verdicts: []invariant.Verdict{held, unknown}}, invariant.Unknown},
		"three: seen by three": {invariant.Found{Verdicts: []invariant.Verdict{held, unknown, violated, later}}, invariant.Violated},
		"nothing was judged":   {invariant.Found{}, invariant.Unknown},
		"seen by it is caught": {invariant.Found{Verdicts: []invariant.Verdict{violated, unknown}, Caught: &caught}, invariant.Held},
	} {
		if outcome, why := s.found.Sum(); outcome != s.outcome || why != want {
			t.Errorf("got  %s, %s\nwant %s, %s", outcome, why, s.outcome, want)
		}
	}
}

// What cannot be written down leaves nothing behind that looks like a verdict.
func TestPut(t *testing.T) {
	odd := invariant.Verdict{Promise: "even", Numbers: map[string]float64{"skew": math.NaN()}}
	for name, found := range map[string]invariant.Found{
		"a verdict": {Verdicts: []invariant.Verdict{{}, odd}}, "that on the mutant": {Verdicts: []invariant.Verdict{{}}, Caught: &odd},
	} {
		var into history.ScenarioResult
		if err := found.Put(&into); err == nil || len(into.Verdicts)+len(into.Caught) != 0 {
			t.Errorf("%s: %v, %+v", name, err, into)
		}
	}
	var into history.ScenarioResult
	if err := (invariant.Found{Verdicts: []invariant.Verdict{{}, {}}, Caught: &invariant.Verdict{}}).Put(&into); err != nil || len(into.Verdicts) != 2 || len(into.Caught) == 0 {
		t.Errorf("%v, %+v", err, into)
	}
}
