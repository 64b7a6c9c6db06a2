package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// kept is what a resumed run has from before. It is empty in every other run.
type kept struct {
	resumed    bool
	kubernetes string // version of the clusters for which no version was requested; empty if no record has one
}

// Resume continues an interrupted run in its folder, s.Dir, and returns the result of the whole run. Scenarios with a whole,
// judged record keep their results. Interrupted scenarios, scenarios that were not begun, those that the harness could not run, and those
// that were to run again, are run; their old records are moved to a folder set-aside-N. run.json lists what was run again, and why.
//
// An error means that nothing was run: the run is complete or still in progress, or its seed, its scenarios or their settings
// differ from those that were chosen now.
func Resume(ctx context.Context, s Settings, chosen []scenario.Spec) (runfolder.File, error) {
	if err := begin(s); err != nil {
		return runfolder.File{}, err
	}
	again, err := theRun.resume(s, byCluster(chosen))
	if err != nil {
		return runfolder.File{}, fmt.Errorf("resume run %s: %w", s.RunID, err)
	}
	theRun.whole = ctx
	if len(again) > 0 {
		register(again)
		runSpecs(runLimit)
	}
	theRun.end(ctx)
	return theRun.file, theRun.finish(chosen)
}

// resume makes the runner continue a run, and returns the scenarios to run again.
func (r *runner) resume(s Settings, chosen []scenario.Spec) ([]scenario.Spec, error) {
	r.settings = &s
	r.budget.Limit, r.budget.Began = s.TimeBudget, s.Resumed
	if err := r.lockFolder(s.Dir); err != nil {
		return nil, err
	}
	f, err := runfolder.ReadFile(s.Dir) // after the lock: nothing changes it any more
	if err != nil {
		return nil, err
	}
	if err := sameRun(f, s, chosen); err != nil {
		return nil, err
	}
	r.kept.resumed = true
	resumption, results, err := r.review(f, chosen)
	if err != nil {
		return nil, err
	}
	if len(resumption.Again) == 0 && !f.Ended.IsZero() {
		return nil, errors.New("it is complete: no scenario is left to run")
	}
	if err := runfolder.ReserveRoom(s.Dir); err != nil {
		return nil, err
	}
	aside, err := runfolder.Aside(s.Dir)
	if err != nil {
		return nil, err
	}
	var again []scenario.Spec
	for i := range resumption.Again {
		one := &resumption.Again[i]
		at := slices.IndexFunc(chosen, func(c scenario.Spec) bool { return c.Name == one.Name })
		again = append(again, chosen[at])
		if runfolder.Exists(filepath.Join(s.Dir, filepath.FromSlash(one.Name))) {
			one.SetAside = aside + "/" + one.Name
		}
	}
	r.file = f
	r.file.Scenarios, r.file.Resumed = results, append(r.file.Resumed, resumption)
	r.file.Ended, r.file.Outcome, r.file.Interrupted = time.Time{}, "", ""
	// run.json comes first: if this process is killed now, the next resumption finds the folders that are still there.
	if err := r.file.Write(s.Dir); err != nil {
		return nil, err
	}
	r.noteResumption(len(chosen), resumption)
	return again, runfolder.SetAside(s.Dir, aside, names(again))
}

// noteResumption reports what is kept, and what is run again.
func (r *runner) noteResumption(chosen int, resumption runfolder.Resumption) {
	r.settings.Progress.Note(fmt.Sprintf("resume run %s: %d of %d scenarios have their result already", r.settings.RunID, chosen-len(resumption.Again), chosen))
	for _, one := range resumption.Again {
		r.settings.Progress.Note(fmt.Sprintf("  run %s: %s", one.Name, one.Why))
	}
}

// sameRun returns an error if what was chosen now is not what the run was begun with.
func sameRun(f runfolder.File, s Settings, chosen []scenario.Spec) error {
	switch {
	case f.ID != s.RunID:
		return fmt.Errorf("%s is the folder of run %s", s.Dir, f.ID)
	case len(f.Chosen) == 0:
		return fmt.Errorf("it was begun by holdfast %s, which did not record its scenarios", f.Holdfast)
	case f.Seed != s.Seed:
		return fmt.Errorf("it has seed %d, not %d", f.Seed, s.Seed)
	}
	var differences []string
	now := chosenOf(s, chosen)
	for _, c := range f.Chosen {
		i := slices.IndexFunc(now, func(n runfolder.Chosen) bool { return n.Name == c.Name })
		switch {
		case i < 0:
			differences = append(differences, c.Name+" is missing")
		case now[i].Digest != c.Digest:
			differences = append(differences, c.Name+" or its settings changed")
		}
	}
	for _, n := range now {
		if !slices.ContainsFunc(f.Chosen, func(c runfolder.Chosen) bool { return c.Name == n.Name }) {
			differences = append(differences, n.Name+" is new")
		}
	}
	if len(differences) > 0 {
		return fmt.Errorf("its scenarios are not those of this holdfast (%s): begin a new run, or use holdfast %s",
			strings.Join(differences, ", "), f.Holdfast)
	}
	return nil
}

// review divides the scenarios of a run: the results to keep, and the scenarios to run again.
func (r *runner) review(f runfolder.File, chosen []scenario.Spec) (runfolder.Resumption, []runfolder.ScenarioResult, error) {
	resumption := runfolder.Resumption{At: time.Now(), Holdfast: r.settings.Version}
	var keep []runfolder.ScenarioResult
	for _, s := range chosen {
		i := slices.IndexFunc(f.Scenarios, func(found runfolder.ScenarioResult) bool { return found.Name == s.Name })
		if i < 0 {
			resumption.Again = append(resumption.Again, runfolder.Again{Name: s.Name, Why: "it has no result"})
			continue
		}
		version, why := r.check(f.Scenarios[i])
		if why != "" {
			resumption.Again = append(resumption.Again, runfolder.Again{Name: s.Name, Why: why})
			continue
		}
		keep = append(keep, f.Scenarios[i])
		if r.settings.Needs(s.Cluster).Kubernetes != "" || version == "" {
			continue
		}
		if r.kept.kubernetes != "" && r.kept.kubernetes != version {
			return resumption, nil, fmt.Errorf("its records are of Kubernetes %s and %s: begin a new run with --kubernetes", r.kept.kubernetes, version)
		}
		r.kept.kubernetes = version
	}
	return resumption, keep, nil
}

// names of scenarios.
func names(of []scenario.Spec) (all []string) {
	for _, s := range of {
		all = append(all, s.Name)
	}
	return all
}
