package cli

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

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
