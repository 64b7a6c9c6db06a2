package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

const (
	unknownWhileBusy = "it was Unknown because the machine was busy"
	// ranBefore is in the note of a second run.
	ranBefore = ", and was Unknown: "
)

// runAgainAlone runs a scenario once more, alone, if it was Unknown beside others, whose noise may have taken its evidence away, or because the
// machine was busy. Its verdict is that of the second run. A broken promise stays broken, whatever ran beside it.
func (r *runner) runAgainAlone(ctx context.Context, some []scenario.Spec, found []result) {
	for i, s := range some {
		if found[i].outcome != verdict.Unknown || found[i].interrupted || ctx.Err() != nil || r.stopped() != nil || r.pool.broken != nil {
			continue
		}
		beside := (&group{members: some}).beside(s.Name)
		why, before := "it was Unknown beside others", "It ran beside "+prose.List(beside)+" first"
		if len(beside) == 0 {
			if !found[i].busy {
				continue
			}
			why, before = unknownWhileBusy, "It ran first while the machine was busy"
		}
		aside, err := r.withdraw(s)
		if err != nil {
			r.settings.Progress.Note(fmt.Sprintf("  %s cannot run again, alone: %v", s.Name, err))
			continue
		}
		r.settings.Progress.Note(fmt.Sprintf("  %s runs again, alone: %s", s.Name, why))
		r.settings.Progress.More()
		s.Notes = append(slices.Clone(s.Notes), before+ranBefore+fmt.Sprintf("%s. That record is in %s/%s.", found[i].why, aside, s.Name))
		found[i] = r.one(ctx, s)
	}
}

// withdraw takes the result of a scenario that is to run again out of run.json, and sets its record aside. After an error, the result is in run.json.
func (r *runner) withdraw(s scenario.Spec) (aside string, err error) {
	if aside, err = runfolder.Aside(r.settings.Dir); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.file.Scenarios
	r.file.Scenarios = slices.DeleteFunc(slices.Clone(all), func(kept runfolder.ScenarioResult) bool { return kept.Name == s.Name })
	// run.json comes first: if this process is killed now, a resumption sets the record aside.
	if err = r.file.Write(r.settings.Dir); err == nil {
		err = runfolder.SetAside(r.settings.Dir, aside, []string{s.Name})
	}
	if err != nil {
		r.file.Scenarios = all
		return "", errors.Join(err, r.file.Write(r.settings.Dir))
	}
	return aside, nil
}
