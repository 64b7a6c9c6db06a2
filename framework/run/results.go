package run

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// keep adds the result of a scenario to run.json at once, so that a killed run keeps it. An error means that the harness failed
// before anything could be judged.
func (a *attempt) keep(s scenario.Spec, found judge.Found, harness error) result {
	out := result{err: harness}
	kept := runfolder.ScenarioResult{
		Name: s.Name, Dir: s.Name, Claim: s.Claim, Took: time.Since(a.began), Mutant: s.Mutant,
		Reproduce: a.settings.Reproduce(s.Name, a.kubernetes),
	}
	if harness != nil {
		kept.Error = harness.Error()
	} else {
		out.outcome, out.why = found.Sum()
		out.escaped = found.Caught != nil && found.Caught.Escaped()
		out.busy = found.Busy()
		kept.Outcome = string(out.outcome)
		if err := found.Put(&kept); err != nil {
			return a.keep(s, judge.Found{}, err)
		}
	}
	if kept.CutShort(a.where) {
		out = result{outcome: verdict.Unknown, interrupted: true, why: a.where, err: out.err}
	}
	return a.add(kept, out)
}

// keepUnsupported adds a scenario that the environment cannot run. It has no outcome.
func (a *attempt) keepUnsupported(s scenario.Spec, why string) result {
	return a.add(runfolder.ScenarioResult{
		Name: s.Name, Dir: s.Name, Claim: s.Claim, Took: time.Since(a.began), Mutant: s.Mutant, NotSupported: why,
		Reproduce: a.settings.Reproduce(s.Name, a.kubernetes),
	}, result{unsupported: true, why: why})
}

func (r *runner) add(kept runfolder.ScenarioResult, out result) result {
	r.file.Scenarios = append(r.file.Scenarios, kept)
	if err := r.file.Write(r.settings.Dir); err != nil && out.err == nil {
		out.err = err
	}
	if kept.Outcome != "" && r.settings.Judged != nil {
		r.settings.Judged()
	}
	return out
}

// finish completes run.json. Chosen scenarios that were never begun, for example after Ctrl-C, are listed as not begun, with no
// outcome.
func (r *runner) finish(chosen []scenario.Spec) error {
	why := "the run was interrupted"
	if cause := r.interruption(); r.stop != nil || cause != "" && cause == r.budget.Spent() {
		why = cause
	}
	for _, s := range chosen {
		begun := slices.ContainsFunc(r.file.Scenarios, func(kept runfolder.ScenarioResult) bool { return kept.Name == s.Name })
		if !begun {
			r.file.Scenarios = append(r.file.Scenarios, runfolder.ScenarioResult{
				Name: s.Name, Dir: s.Name, Claim: s.Claim, Mutant: s.Mutant, NotBegun: "not begun: " + why,
				Reproduce: r.settings.Reproduce(s.Name, r.settings.Needs(s.Cluster).Kubernetes),
			})
		}
	}
	if !r.settings.Resumed.IsZero() { // the kept results came first
		r.file.SortScenarios()
	}
	freed := runfolder.FreeRoom(r.settings.Dir)
	r.file.Ended = time.Now()
	r.file.Outcome = string(judge.WorthOf(r.file))
	if r.file.Cut() {
		r.file.Interrupted = r.interruption()
	}
	return joined(r.file.Write(r.settings.Dir), freed)
}
