package reports

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// A run is interrupted before it is unknown, and after it is violated.
func TestResultOfARunThatWasInterrupted(t *testing.T) {
	cut, never := Scenario{Name: "chaos/b"}, Scenario{Name: "chaos/c"}
	cut.takeResultOf(&runfolder.ScenarioResult{Interrupted: "interrupted in the phase steady"})
	never.takeResultOf(&runfolder.ScenarioResult{NotBegun: "not begun: the run was interrupted"})
	for _, test := range []struct {
		with Scenario
		want Result
	}{
		{Scenario{Result: Held}, Interrupted}, {Scenario{Result: Unknown}, Interrupted}, {Scenario{Result: Violated}, Violated},
		{Scenario{Result: Missed}, Violated},
	} {
		m := Report{Interrupted: "SIGINT", Scenarios: []Scenario{test.with, cut, never}}.Completed()
		if m.Result != test.want || !strings.Contains(m.Summary(), "1 interrupted, 1 not begun. Interrupted by SIGINT.") {
			t.Errorf("%s with an interruption: %s, %s", test.with.Result, m.Result, m.Summary())
		}
	}
}

// A run that was continued says when, how much was left, and whether another version did it.
func TestSummaryOfAResumedRun(t *testing.T) {
	m := Report{Holdfast: "v1", Resumed: []Resumption{
		{At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Holdfast: "v1", Left: 90}, {At: time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC), Holdfast: "v2", Left: 1},
	}}
	const want = " Continued after an interruption at 2026-01-02 03:04 UTC with 90 scenarios left and at 2026-01-03 03:04 UTC with 1 scenario left, by holdfast v2."
	if got := m.Summary(); !strings.HasSuffix(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A run of one mutant, and one of no mutant, say nothing of what was not there.
func TestSummaryOfWhatWasThere(t *testing.T) {
	plain, mutant := Scenario{Result: Held}, Scenario{Result: Caught, Mutant: &Mutant{}}
	for want, m := range map[string]Report{
		"1 held. 0 of 0 requests failed over 0 disruption events.": {Scenarios: []Scenario{plain}},
		"1 mutant caught.": {Scenarios: []Scenario{mutant}},
		"1 held, 1 mutant caught. Without the mutants: 0 of 0 requests failed over 0 disruption events.": {Scenarios: []Scenario{plain, mutant}},
		"nothing ran.": {},
	} {
		if got := m.Summary(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
