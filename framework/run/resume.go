package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Resume continues an interrupted run in its folder, s.Dir, and returns the result of the whole run. Scenarios that were judged keep their
// results. The others run, and what they left is moved to a folder set-aside-N. run.json lists them, and why they run.
//
// An error means that nothing was run: the run is complete or still in progress, or another version of holdfast began it.
func Resume(ctx context.Context, s Settings, chosen []scenario.Spec) (runfolder.File, error) {
	r, err := begin(s)
	if err != nil {
		return runfolder.File{}, err
	}
	again, err := r.resume(s, ByCluster(chosen))
	if err != nil {
		return runfolder.File{}, fmt.Errorf("resume run %s: %w", s.RunID, err)
	}
	return r.rest(ctx, again, chosen)
}

// resume makes the runner continue a run, and returns the scenarios that have no result.
func (r *runner) resume(s Settings, chosen []scenario.Spec) (again []scenario.Spec, err error) {
	r.settings = &s
	r.budget.Limit, r.budget.Began = s.TimeBudget, s.Resumed
	if err := r.lockFolder(s.Dir); err != nil {
		return nil, err
	}
	if r.file, err = runfolder.ReadFile(s.Dir); err != nil { // after the lock: nothing changes it any more
		return nil, err
	}
	switch {
	case r.file.ID != s.RunID || r.file.Seed != s.Seed:
		return nil, fmt.Errorf("%s is the folder of run %s with seed %d", s.Dir, r.file.ID, r.file.Seed)
	case r.file.Holdfast != s.Version: // whose scenarios may be others
		return nil, fmt.Errorf("it was begun by holdfast %s, and this is %s: use that one, or begin a new run", r.file.Holdfast, s.Version)
	}
	aside, err := runfolder.Aside(s.Dir)
	if err != nil {
		return nil, err
	}
	resumption := runfolder.Resumption{At: time.Now(), Holdfast: s.Version}
	var kept []runfolder.ScenarioResult
	for _, c := range chosen {
		result, why := r.resultOf(c)
		if why == "" {
			kept = append(kept, result)
			continue
		}
		one := runfolder.Again{Name: c.Name, Why: why}
		if runfolder.Exists(filepath.Join(s.Dir, filepath.FromSlash(c.Name))) {
			one.SetAside = aside + "/" + c.Name
		}
		again, resumption.Again = append(again, c), append(resumption.Again, one)
	}
	if len(again) == 0 && !r.file.Ended.IsZero() {
		return nil, errors.New("it is complete: no scenario is left to run")
	}
	if err := runfolder.ReserveRoom(s.Dir); err != nil {
		return nil, err
	}
	r.file.Scenarios, r.file.Resumed = kept, append(r.file.Resumed, resumption)
	r.file.Ended, r.file.Outcome, r.file.Interrupted = time.Time{}, "", ""
	// run.json comes first: if this process is killed now, the next resumption finds the folders that are still there.
	if err := r.file.Write(s.Dir); err != nil {
		return nil, err
	}
	s.Progress.Note(fmt.Sprintf("resume run %s: %d of %d scenarios have their result already", s.RunID, len(kept), len(chosen)))
	for _, one := range resumption.Again {
		s.Progress.Note(fmt.Sprintf("  run %s: %s", one.Name, one.Why))
	}
	return again, runfolder.SetAside(s.Dir, aside, names(again))
}

// resultOf is the result that a scenario has in the folder of the run, or why it has none. A result without its whole record does not count.
func (r *runner) resultOf(s scenario.Spec) (found runfolder.ScenarioResult, why string) {
	i := slices.IndexFunc(r.file.Scenarios, func(found runfolder.ScenarioResult) bool { return found.Name == s.Name })
	if i < 0 {
		return found, "it has no result"
	}
	found = r.file.Scenarios[i]
	switch {
	case found.NotBegun != "":
		return found, found.NotBegun
	case found.Error != "":
		return found, "the harness failed: " + found.Error
	case found.Left():
		return found, found.Interrupted
	case found.Outcome == "" && found.NotSupported == "":
		return found, "it was not judged"
	}
	recorded, err := history.Open(filepath.Join(r.settings.Dir, filepath.FromSlash(s.Name)))
	h := recorded.Header
	switch {
	case err != nil:
		return found, err.Error()
	case recorded.Incomplete != "":
		return found, "its record is incomplete: " + recorded.Incomplete
	case h.Scenario != s.Name || h.RunID != r.settings.RunID || h.Seed != r.settings.Seed:
		return found, fmt.Sprintf("its record is that of %s in run %s with seed %d", h.Scenario, h.RunID, h.Seed)
	}
	if r.settings.Needs(s.Cluster).Kubernetes == "" { // the other clusters get the same version
		r.kubernetes = h.Cluster.Kubernetes
	}
	return found, ""
}

// names of scenarios.
func names(of []scenario.Spec) (all []string) {
	for _, s := range of {
		all = append(all, s.Name)
	}
	return all
}
