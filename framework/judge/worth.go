package judge

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Worth is what a whole run is worth. All that tells of a run, or ends with its exit code, takes it from WorthOf or Sum.
type Worth string

// What a run can be worth, the worst first. The first of them that applies counts.
const (
	RunViolated    Worth = "violated"                   // a promise was broken, or a mutant was missed
	RunInterrupted Worth = runfolder.OutcomeInterrupted // a scenario was interrupted, or not begun
	RunFailed      Worth = "failed"                     // the harness or its environment failed before everything could be judged
	RunUnknown     Worth = "unknown"                    // evidence is missing, about a scenario or about the run
	RunHeld        Worth = "held"                       // everything that was chosen was judged, and held
)

// WorthOf decides what a run is worth by its run.json.
func WorthOf(f runfolder.File) Worth { return Sum(f.Scenarios, Lacks(f)) }

// Sum decides what the results of a run come to, of which something else is missing besides: see Lacks. A scenario that is not supported
// does not count, and a run without a scenario that counts is Unknown.
func Sum(results []runfolder.ScenarioResult, lacks []string) Worth {
	var cut, failed, held bool
	unknown := len(lacks) > 0
	for _, s := range results {
		switch outcome := verdict.Outcome(s.Outcome); {
		case outcome == verdict.Violated:
			return RunViolated
		case s.NotBegun != "" || s.Interrupted != "":
			cut = true
		case s.Error != "":
			failed = true
		case outcome == "" && s.NotSupported != "":
		case outcome == verdict.Held:
			held = true
		default:
			unknown = true
		}
	}
	switch {
	case cut:
		return RunInterrupted
	case failed:
		return RunFailed
	case unknown || !held:
		return RunUnknown
	}
	return RunHeld
}

// Lacks says what a run.json lacks of a whole run: its identity, its end, and the results of scenarios that were chosen.
func Lacks(f runfolder.File) (list []string) {
	if f.ID == "" || f.Seed == 0 { // every run has both
		list = append(list, runfolder.FileName+" is damaged: it lacks the run's name or seed")
	}
	if f.Ended.IsZero() {
		list = append(list, "the run did not end: it was killed, or is still running")
	}
	var without []string
	for _, c := range f.Chosen {
		if !slices.ContainsFunc(f.Scenarios, func(s runfolder.ScenarioResult) bool { return s.Name == c.Name }) {
			without = append(without, c.Name)
		}
	}
	if n := len(without); n > 0 {
		const most = 5
		list = append(list, fmt.Sprintf("the run has no result of %s of the %d that were chosen: %s", prose.Count(n, "scenario"), len(f.Chosen), prose.Few(without, most)))
	}
	return list
}
