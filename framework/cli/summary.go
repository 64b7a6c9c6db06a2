package cli

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// harnessFailed reports whether a scenario could not be judged, and nothing was seen broken.
func harnessFailed(s runfolder.ScenarioResult) bool {
	return s.Error != "" && s.Outcome != string(verdict.Violated)
}

// summaryOf is the last line of a run: how many scenarios held, and how many mutants were caught.
func summaryOf(f runfolder.File) string {
	counts := map[verdict.Outcome]int{}
	mutants, failed, unsupported := mutantsOf(f), 0, ""
	for _, s := range f.Scenarios {
		if s.NotSupported != "" {
			unsupported += "; not supported here: " + s.Name
			continue
		}
		switch {
		case s.Left(): // counted by leftOf
		case harnessFailed(s):
			failed++
		case s.Mutant == nil:
			counts[verdict.Outcome(s.Outcome)]++
		}
	}
	text := fmt.Sprintf("%s held, %d violated, %d unknown", prose.Counted(uint64(counts[verdict.Held]), "scenario"),
		counts[verdict.Violated], counts[verdict.Unknown]+counts[""])
	if failed > 0 {
		text += fmt.Sprintf(", harness failed in %d", failed)
	}
	if mutants.demanded.of+mutants.byChance.of > 0 {
		text += "; " + mutants.String()
	}
	return text + leftOf(f) + unsupported
}

// leftOf counts the interrupted scenarios of a run and those that it did not begin; empty: none.
func leftOf(f runfolder.File) string {
	if !f.Cut() {
		return ""
	}
	interrupted, notBegun := f.Left()
	return fmt.Sprintf("; %d interrupted, %d not begun", interrupted, notBegun)
}
