package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The summary names unsupported scenarios and does not count them.
func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	got := summaryOf(runfolder.File{Scenarios: []runfolder.ScenarioResult{
		{Name: "chaos/a", Outcome: "held"}, {Name: "chaos/latency", NotSupported: "no netem"},
	}})
	const want = "1 scenario held, 0 violated, 0 unknown; not supported here: chaos/latency"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Who has recorded a change sees each promise, and which of them nothing was done about.
func TestRecordedPromisesArePrinted(t *testing.T) {
	var out bytes.Buffer
	writeRecorded(&out, runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: "record/shop", Verdicts: []json.RawMessage{
		json.RawMessage(`{"promise": "no request fails", "outcome": "held", "seen": "0 of 120 failed"}`),
		json.RawMessage(`{"promise": "no node is lost", "outcome": "unknown", "untested": true, "seen": "not tested: no node was lost"}`),
	}}}})
	const want = "  held          no request fails\n                0 of 120 failed\n" +
		"  not tested    no node is lost: no node was lost\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// What a record is judged again to be is printed in the words in which it was first: what was not tested is not unknown.
func TestAJudgementSaysNotTested(t *testing.T) {
	untested := verdict.Verdict{Promise: "no node is lost"}.NotTested("no node was lost")
	unknown := verdict.Verdict{Promise: "no pod is lost"}.Unknown(verdict.Missing{"a watch had a gap"})
	var out bytes.Buffer
	writeJudgement(&out, stored.Judgement{Scenarios: []stored.Scenario{{
		Result: runfolder.ScenarioResult{Name: "record/shop"}, Found: judge.Found{Verdicts: []verdict.Verdict{untested, unknown}},
	}}})
	const want = "record/shop\n  not tested    no node is lost: no node was lost\n" +
		"  unknown       no pod is lost\n                no verdict: a watch had a gap\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// What was not tested takes one line, however long its promise and its reason are; what was tested is printed whole.
func TestAPromiseThatWasNotTestedTakesOneLine(t *testing.T) {
	reason := strings.Repeat("nothing that requests reach was disturbed ", 3)
	promise := "failures end within 12s after each disturbance of the workload, on each lane, and no later"
	for _, promise := range []string{promise, promise + " than the slowest of them, " + promise} {
		raw := func(v verdict.Verdict) []json.RawMessage {
			v.Promise = promise
			written, err := v.Written()
			if err != nil {
				t.Fatal(err)
			}
			return []json.RawMessage{written}
		}
		lines := func(v verdict.Verdict) int {
			var out bytes.Buffer
			writeRecorded(&out, runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: "record/shop", Verdicts: raw(v)}}})
			if !strings.Contains(out.String(), promise[:50]) {
				t.Errorf("the promise is not named:\n%s", &out)
			}
			return strings.Count(out.String(), "\n")
		}
		if got := lines(verdict.Verdict{}.NotTested(reason)); got != 1 {
			t.Errorf("it takes %d lines", got)
		}
		if got := lines(verdict.Verdict{}.Unknown(verdict.Missing{reason})); got < 3 {
			t.Errorf("an Unknown that was tested takes %d lines only", got)
		}
	}
}

// Each scenario is in exactly one number of the last line.
func TestTheSummaryAddsUp(t *testing.T) {
	mutant, byChance := &history.Mutant{Twin: "chaos/a"}, &history.Mutant{Twin: "chaos/a", ByChance: true}
	escaped := json.RawMessage(`{"outcome": "held", "numbers": {"caught": 0}}`)
	all := []runfolder.ScenarioResult{
		{Name: "chaos/a", Outcome: "held"}, {Name: "chaos/b", Outcome: "unknown"}, {Name: "chaos/c", Error: "no engine"},
		{Name: "mutants/a", Mutant: mutant, Outcome: "held"}, {Name: "mutants/b", Mutant: mutant, Outcome: "unknown"},
		{Name: "mutants/c", Mutant: mutant, Outcome: "violated"}, {Name: "mutants/d", Mutant: mutant, Error: "no engine"},
		{Name: "mutants/e", Mutant: byChance, Outcome: "unknown"}, {Name: "mutants/f", Mutant: byChance, Outcome: "held", Caught: escaped},
		{Name: "mutants/g", Mutant: byChance, Outcome: "held"},
	}
	for _, test := range []struct {
		of   []runfolder.ScenarioResult
		want string
	}{
		{all, "1 scenario held, 0 violated, 1 unknown, harness failed in 2; 1 of 3 mutants caught, 1 missed, 1 unknown, and 1 of 3 that are caught by chance, 1 unknown"},
		{[]runfolder.ScenarioResult{all[0], all[3], all[4]}, "1 scenario held, 0 violated, 0 unknown; 1 of 2 mutants caught, 1 unknown"},
		{[]runfolder.ScenarioResult{all[0], all[3]}, "1 scenario held, 0 violated, 0 unknown; 1 of 1 mutants caught"},
	} {
		if got := summaryOf(runfolder.File{Scenarios: test.of}); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// Each result counts in one place: Unknown is neither caught nor missed, neither held nor a false alarm, and so is a failed harness. What was left or
// is not supported counts nowhere.
func TestRounds(t *testing.T) {
	mutant, byChance := &history.Mutant{Twin: "chaos/a"}, &history.Mutant{Twin: "chaos/a", ByChance: true, Trap: true}
	escaped := json.RawMessage(`{"outcome": "held", "numbers": {"caught": 0}}`)
	var rounds roundsFound
	for id, results := range [][]runfolder.ScenarioResult{
		{
			{Name: "chaos/a", Outcome: "held"}, {Name: "chaos/b", Outcome: "unknown"}, {Name: "chaos/c", Error: "no engine"}, {Name: "chaos/d", NotSupported: "no netem"},
			{Name: "mutants/a", Mutant: mutant, Outcome: "held"}, {Name: "mutants/b", Mutant: mutant, Outcome: "violated"},
			{Name: "mutants/c", Mutant: byChance, Outcome: "held"}, {Name: "mutants/d", Mutant: byChance, Outcome: "held", Caught: escaped},
		},
		{
			{Name: "chaos/a", Outcome: "violated"}, {Name: "mutants/a", Mutant: mutant, Outcome: "held"},
			{Name: "mutants/b", Interrupted: "in phase steady"}, {Name: "mutants/c", NotBegun: "not begun"},
		},
	} {
		rounds.Add(runfolder.File{ID: string(rune('1' + id)), Scenarios: results})
	}
	const want = "1 of 2 mutants caught (1.26 % to 98.7 %), 1 false alarm in 2 good runs (1.26 % to 98.7 %), 1 Unknown of 8 runs (0.316 % to 52.7 %), 1 not judged; " +
		"1 of 1 caught whose twin did not hold in the same round; 1 of 2 caught that are caught by chance (1.26 % to 98.7 %); " +
		"1 of the caught have a server that sets a trap: it waits up to a second for a request that it can hurt\n" +
		"  run 1, chaos/b: unknown\n  run 1, chaos/c: not judged: no engine\n  run 1, mutants/b: missed\n  run 2, chaos/a: violated"
	if got := rounds.String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
