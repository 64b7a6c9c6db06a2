package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// again runs a scenario once more if it was Unknown because the machine was busy. Its verdict is that of the second run. A broken promise stays
// broken.
func (r *runner) again(ctx context.Context, s scenario.Spec, first result) result {
	if first.outcome != verdict.Unknown || !first.busy || first.interrupted || ctx.Err() != nil || r.stop != nil || r.pool.broken != nil {
		return first
	}
	aside, err := r.withdraw(s)
	if err != nil {
		r.settings.Progress.Note(fmt.Sprintf("  %s cannot run again: %v", s.Name, err))
		return first
	}
	r.settings.Progress.Note(fmt.Sprintf("  %s runs again: it was Unknown because the machine was busy", s.Name))
	r.settings.Progress.More()
	note := fmt.Sprintf("It ran first while the machine was busy, and was Unknown: %s. That record is in %s/%s.", first.why, aside, s.Name)
	s.Notes = append(slices.Clone(s.Notes), note)
	return r.one(ctx, s)
}

// withdraw takes the result of a scenario that is to run again out of run.json, and sets its record aside. After an error, the result is in run.json.
func (r *runner) withdraw(s scenario.Spec) (aside string, err error) {
	if aside, err = runfolder.Aside(r.settings.Dir); err != nil {
		return "", err
	}
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
