package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestEnough(t *testing.T) {
	written := func(busy float64) json.RawMessage {
		v := verdict.Verdict{Promise: "no request fails", Numbers: map[string]float64{evidence.BusyNumber: busy}}
		raw, err := v.Unknown(verdict.Missing{"the machine stood still"}).Written()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	held, broken := runfolder.ScenarioResult{Name: "chaos/a", Outcome: "held"}, runfolder.ScenarioResult{Name: "chaos/b", Outcome: "violated"}
	busy := runfolder.ScenarioResult{Name: "chaos/busy", Outcome: "unknown", Verdicts: []json.RawMessage{written(1)}}
	blind := runfolder.ScenarioResult{Name: "chaos/blind", Outcome: "unknown", Verdicts: []json.RawMessage{written(0)}}
	mutant := runfolder.ScenarioResult{Name: "mutants/a", Outcome: "unknown", Mutant: &history.Mutant{}, Caught: written(1)}
	missed := runfolder.ScenarioResult{Name: "mutants/b", Outcome: "violated", Mutant: &history.Mutant{}}
	failed, left := runfolder.ScenarioResult{Name: "chaos/c", Error: "no engine"}, runfolder.ScenarioResult{Name: "chaos/d", NotBegun: "not begun: no time"}
	cut := runfolder.ScenarioResult{Name: "chaos/e", Interrupted: "in phase steady"}
	four := []runfolder.ScenarioResult{held, held, held, held}
	for what, test := range map[string]struct {
		of          []runfolder.ScenarioResult
		said, wrong string
	}{
		"all":                        {four, "4 of the 4", ""},
		"one Unknown of five":        {append(four, busy), "chaos/busy: unknown, because of the machine: no request fails: no verdict: the machine stood still", ""},
		"a mutant Unknown of five":   {append(four, mutant), "mutants/a: unknown", ""},
		"two of six":                 {append(four, busy, mutant), "4 of the 6", "4 of 6 is less than 4 of 5"},
		"what was left out is named": {append(four, left), "chaos/d: not begun: no time", ""},
		"nothing was begun":          {[]runfolder.ScenarioResult{left}, "0 of the 0", "0 of 0 is less"},
		"not the machine":            {append(four, blind), "4 of the 5", "chaos/blind is unknown, and no busy machine explains it"},
		"violated":                   {append(four, broken), "4 of the 5", "chaos/b is violated"},
		"missed":                     {append(four, missed), "4 of the 5", "mutants/b is violated"},
		"the harness failed":         {append(four, failed), "4 of the 5", "chaos/c is no engine"},
		"cut short":                  {append(four, cut), "4 of the 5", "chaos/e is in phase steady"},
	} {
		said, err := enough(runfolder.File{Scenarios: test.of}, 4, 5)
		if all := strings.Join(said, "\n"); !strings.Contains(all, test.said) {
			t.Errorf("%s: %q is not in\n%s", what, test.said, all)
		}
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: got %v, want %q", what, err, test.wrong)
		}
	}
}

func TestWhatIsNoShareOrNoRun(t *testing.T) {
	for _, args := range [][]string{nil, {"18/23"}, {"18", "."}, {"24/23", "."}, {"1/0", "."}, {"-1/3", "."}, {"18/23", t.TempDir()}} {
		if run(args) == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// A run that was killed, or that lacks a scenario, has not left out what was busy.
func TestARunThatIsNotWhole(t *testing.T) {
	whole := runfolder.File{ID: "r1", Seed: 1, Ended: time.Unix(60, 0), Scenarios: []runfolder.ScenarioResult{{Name: "chaos/a", Outcome: "held"}}}
	killed, lacking := whole, whole
	killed.Ended = time.Time{}
	lacking.Chosen = []runfolder.Chosen{{Name: "chaos/a"}, {Name: "chaos/b"}}
	for want, f := range map[string]runfolder.File{"": whole, "the run did not end": killed, "no result of 1 scenario of the 2 that were chosen: chaos/b": lacking} {
		dir := t.TempDir()
		if err := f.Write(dir); err != nil {
			t.Fatal(err)
		}
		if err := run([]string{"1/2", dir}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
