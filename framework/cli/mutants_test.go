package cli

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/reports"
)

// run, judge and report have the same exit code for a mutant, whatever its record is like. Once, report called an incomplete
// record Unknown that judge called caught.
func TestEveryConsumerAgreesOnAMutant(t *testing.T) {
	edit := func(b *historytest.Builder, edit func(*history.Mutant)) *historytest.Builder {
		return mutant(b).Header(func(h *history.Header) { edit(h.Mutant) })
	}
	chance := func(m *history.Mutant) { m.ByChance = true }
	for name, test := range map[string]struct {
		record *historytest.Builder
		code   int
	}{
		"caught":                  {mutant(broken(t, "mutants/a")), exit.Held},
		"missed":                  {mutant(still(t, "mutants/a")), exit.Violated},
		"escaped":                 {edit(still(t, "mutants/a"), chance), exit.Held},
		"caught by chance":        {edit(broken(t, "mutants/a"), chance), exit.Held},
		"cut off":                 {mutant(broken(t, "mutants/a")).Incomplete("killed"), exit.Unknown},
		"in trouble":              {mutant(broken(t, "mutants/a")).Trouble(20e9, "the load worker is gone"), exit.Unknown},
		"for another cause":       {edit(broken(t, "mutants/a"), func(m *history.Mutant) { m.Cause = "slow" }), exit.Unknown},
		"by a promise not made":   {edit(broken(t, "mutants/a"), func(m *history.Mutant) { m.Params = []byte(`{"atLeast":99}`) }), exit.Unknown},
		"of the harness, cut off": {edit(still(t, "mutants/a"), func(m *history.Mutant) { m.Harness = true }).Incomplete("killed"), exit.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := storeRun(t, test.record)
			_, judge, _ := execute(t, "judge", dir)
			model, err := reports.Build(dir)
			if err != nil {
				t.Fatal(err)
			}
			report := map[reports.Result]int{reports.Held: exit.Held, reports.Violated: exit.Violated, reports.Unknown: exit.Unknown}[model.Result]
			if run := exit.Code(outcomeOf(file)); run != test.code || judge != test.code || report != test.code {
				t.Errorf("the run says %d, judge %d, the report %d (%s); want %d", run, judge, report, model.Scenarios[0].Why, test.code)
			}
		})
	}
}
