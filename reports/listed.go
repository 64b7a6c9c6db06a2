package reports

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// ResultOf is the result of a scenario in run.json, and the reason. An outcome that this version does not know is Unknown. Empty: the
// scenario was not judged.
func ResultOf(s *runfolder.ScenarioResult) (Result, string) {
	if s.NotSupported != "" && s.Error == "" && s.Outcome == "" {
		return Unsupported, s.NotSupported
	}
	verdicts, err := verdictsOf(s)
	if err != nil {
		return Unknown, err.Error()
	}
	switch {
	case s.Error != "" && s.Outcome != string(verdict.Violated) || s.Outcome == "":
		return "", cmp.Or(s.Error, "nothing was judged")
	case s.Mutant != nil:
		caught, err := caughtOf(s, verdicts)
		if err != nil {
			return Unknown, err.Error()
		}
		return (&Mutant{Verdict: new(newVerdict(caught))}).sumUp("")
	}
	var judged Scenario
	judged.conclude(verdicts)
	return ResultOfOutcome(verdict.Outcome(s.Outcome)), judged.Why
}

// caughtOf is the verdict on a mutant in run.json. An older version wrote only its outcome.
func caughtOf(s *runfolder.ScenarioResult, verdicts []verdict.Verdict) (caught verdict.Verdict, err error) {
	if len(s.Caught) > 0 {
		if err := json.Unmarshal(s.Caught, &caught); err != nil {
			return caught, fmt.Errorf("read the verdict on the mutant %s: %w", s.Name, err)
		}
	}
	if outcome := verdict.Outcome(s.Outcome); caught.Outcome != outcome {
		caught = verdict.Verdict{Outcome: outcome, Seen: "no promise that is to catch it was judged"}
		for _, v := range verdicts {
			if v.Kind == s.Mutant.CaughtBy {
				caught.Seen = v.Seen
			}
		}
	}
	return caught, nil
}
