package judge_test

import (
	"math"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// A person is told what decided: the first verdict that is as bad as all of them together, or that on the mutant.
func TestSumSaysWhatDecided(t *testing.T) {
	verdictOn := func(promise string, o verdict.Outcome) verdict.Verdict {
		return verdict.Verdict{Promise: promise, Outcome: o, Seen: "seen by " + promise}
	}
	held, unknown := verdictOn("one", verdict.Held), verdictOn("two", verdict.Unknown)
	violated, later := verdictOn("three", verdict.Violated), verdictOn("four", verdict.Violated)
	caught := verdictOn("it is caught", verdict.Held)
	for want, s := range map[string]struct {
		found   judge.Found
		outcome verdict.Outcome
	}{
		"one: seen by one":     {judge.Found{Verdicts: []verdict.Verdict{held, held}}, verdict.Held},
		"two: seen by two":     {judge.Found{Verdicts: []verdict.Verdict{held, unknown}}, verdict.Unknown},
		"three: seen by three": {judge.Found{Verdicts: []verdict.Verdict{held, unknown, violated, later}}, verdict.Violated},
		"nothing was judged":   {judge.Found{}, verdict.Unknown},
		"seen by it is caught": {judge.Found{Verdicts: []verdict.Verdict{violated, unknown}, Caught: &caught}, verdict.Held},
	} {
		if outcome, why := s.found.Sum(); outcome != s.outcome || why != want {
			t.Errorf("got  %s, %s\nwant %s, %s", outcome, why, s.outcome, want)
		}
	}
}

// What cannot be written down leaves nothing behind that looks like a verdict.
func TestPut(t *testing.T) {
	odd := verdict.Verdict{Promise: "even", Numbers: map[string]float64{"skew": math.NaN()}}
	for name, found := range map[string]judge.Found{
		"a verdict": {Verdicts: []verdict.Verdict{{}, odd}}, "that on the mutant": {Verdicts: []verdict.Verdict{{}}, Caught: &odd},
	} {
		var into runfolder.ScenarioResult
		if err := found.Put(&into); err == nil || len(into.Verdicts)+len(into.Caught) != 0 {
			t.Errorf("%s: %v, %+v", name, err, into)
		}
	}
	var into runfolder.ScenarioResult
	if err := (judge.Found{Verdicts: []verdict.Verdict{{}, {}}, Caught: &verdict.Verdict{}}).Put(&into); err != nil || len(into.Verdicts) != 2 || len(into.Caught) == 0 {
		t.Errorf("%v, %+v", err, into)
	}
}
