package reports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
)

// judgeAnew replaces a result's verdicts by those that its record gets now. A scenario that the harness failed in before
// there was a record stays as it is.
func judgeAnew(folder string, s *history.ScenarioResult) {
	local := filepath.FromSlash(s.Dir)
	if !filepath.IsLocal(local) {
		s.Error = fmt.Sprintf("its folder %q is not below the run's", s.Dir)
		return
	}
	run, err := history.Open(filepath.Join(folder, local))
	if err != nil {
		s.Error = cmp.Or(s.Error, err.Error())
		return
	}
	verdicts := invariant.Judge(run)
	s.Name, s.Mutant, s.Error, s.Verdicts = cmp.Or(run.Header.Scenario, s.Name), run.Header.Mutant, "", nil
	if s.NotSupported = invariant.Unsupported(run, verdicts); s.NotSupported != "" {
		s.Outcome = ""
		return
	}
	outcome := invariant.Overall(verdicts)
	if s.Mutant != nil {
		outcome = invariant.Caught(*s.Mutant, verdicts).Outcome
	}
	s.Outcome = string(outcome)
	for _, v := range verdicts {
		raw, err := json.Marshal(v)
		if err != nil { // a number that is not finite, which no invariant measures
			s.Outcome, s.Verdicts, s.Error = "", nil, fmt.Sprintf("write down the verdict on %q: %v", v.Promise, err)
			return
		}
		s.Verdicts = append(s.Verdicts, raw)
	}
}
