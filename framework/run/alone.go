package run

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// again runs each scenario of a group alone that was Unknown beside the others, because their noise may have taken its evidence away. Its verdict is
// that of the second run. A broken promise stays broken, whatever ran beside it.
func (r *runner) again(ctx context.Context, some []scenario.Spec, found []result) {
	if len(some) == 1 {
		return
	}
	g := group{members: some}
	for i, s := range some {
		if found[i].outcome != verdict.Unknown || found[i].interrupted || ctx.Err() != nil || r.stopped() != nil {
			continue
		}
		aside, err := r.setAside(s)
		if err != nil {
			r.settings.Progress.Note("  " + err.Error()) // the first result stays
			continue
		}
		r.settings.Progress.Note(fmt.Sprintf("  %s runs again, alone: beside others it was Unknown", s.Name))
		r.settings.Progress.More()
		s.Notes = append(slices.Clone(s.Notes), fmt.Sprintf("It ran beside %s first, and was Unknown: %s. That record is in %s/%s.",
			prose.List(g.beside(s.Name)), found[i].why, aside, s.Name))
		found[i] = r.one(ctx, s)
	}
}

// setAside moves the record of a scenario that is to run again, and takes its result out of run.json.
func (r *runner) setAside(s scenario.Spec) (aside string, err error) {
	if aside, err = asideFolder(r.settings.Dir); err != nil {
		return "", err
	}
	if err := setAside(r.settings.Dir, aside, []scenario.Spec{s}); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.file.Scenarios = slices.DeleteFunc(r.file.Scenarios, func(kept runfolder.ScenarioResult) bool { return kept.Name == s.Name })
	return aside, r.file.Write(r.settings.Dir)
}
