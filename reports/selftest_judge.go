package reports

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
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
	verdicts := judge.Judge(run)
	s.Name, s.Mutant, s.Error = cmp.Or(run.Header.Scenario, s.Name), run.Header.Mutant, ""
	if s.NotSupported = judge.Unsupported(run, verdicts); s.NotSupported != "" {
		s.Outcome, s.Verdicts, s.Caught = "", nil, nil
		return
	}
	found := judge.FoundBy(run, verdicts)
	outcome, _ := found.Sum()
	s.Outcome = string(outcome)
	s.CutShort(run.Interrupted())
	if err := found.Put(s); err != nil {
		s.Outcome, s.Error = "", err.Error()
	}
}
