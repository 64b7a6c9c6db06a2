package stored

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// Again replaces the verdicts in a scenario's result of run.json by those that its record gets now. The record is in the result's
// folder below the run's folder. Without a record that can be read, the result keeps its verdicts and has an Error. An Error stays, and so does an interruption, except of a broken promise.
func Again(runDir string, into *runfolder.ScenarioResult) {
	local := filepath.FromSlash(into.Dir)
	if !filepath.IsLocal(local) {
		into.Error = fmt.Sprintf("its folder %q is not below the run's", into.Dir)
		return
	}
	run, err := history.Open(filepath.Join(runDir, local))
	if err != nil {
		into.Error = cmp.Or(into.Error, err.Error())
		return
	}
	into.Name = cmp.Or(run.Header.Scenario, into.Name)
	failed, interrupted := into.Error, into.Interrupted // which the record need not show
	judge.Record(run, into)
	cutToo(into, interrupted)
	into.Error = cmp.Or(failed, into.Error)
}
