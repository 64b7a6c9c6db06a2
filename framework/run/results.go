package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// entry is what run.json has of each scenario, whatever became of it.
func (r *runner) entry(s scenario.Spec, kubernetes string) runfolder.ScenarioResult {
	return runfolder.ScenarioResult{Name: s.Name, Dir: s.Name, Claim: s.Claim, Mutant: s.Mutant, Reproduce: r.settings.Reproduce(s.Name, kubernetes)}
}

// keep adds the result of a scenario to run.json at once, so that a killed run keeps it. An error means that the harness failed
// before anything could be judged.
func (a *attempt) keep(s scenario.Spec, found judge.Found, harness error) result {
	out := result{err: harness}
	kept := a.entry(s, a.kubernetes)
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
	kept := a.entry(s, a.kubernetes)
	kept.NotSupported = why
	return a.add(kept, result{unsupported: true, why: why})
}

// keepInterrupted adds a scenario that was interrupted before it had a record.
func (a *attempt) keepInterrupted(s scenario.Spec) result {
	kept := a.entry(s, a.kubernetes)
	kept.Interrupted = "interrupted before it was deployed"
	return a.add(kept, result{outcome: verdict.Unknown, interrupted: true, why: kept.Interrupted})
}

func (a *attempt) add(kept runfolder.ScenarioResult, out result) result {
	kept.Took = time.Since(a.began)
	a.file.Scenarios = append(a.file.Scenarios, kept)
	if err := a.file.Write(a.settings.Dir); err != nil && out.err == nil {
		out.err = err
	}
	if kept.Outcome != "" && a.settings.Judged != nil {
		a.settings.Judged()
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
			left := r.entry(s, r.settings.Needs(s.Cluster).Kubernetes)
			left.NotBegun = "not begun: " + why
			r.file.Scenarios = append(r.file.Scenarios, left)
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

// interruption is what interrupted the run: a signal, or an error.
func (r *runner) interruption() string {
	var signal interrupt.Signal
	switch {
	case r.stop != nil:
		return r.stop.Error()
	case r.budget.Spent() != "" && r.settings.Interrupt.Cause() == nil && r.cause == "":
		return r.budget.Spent()
	case errors.As(r.settings.Interrupt.Cause(), &signal):
		return unix.SignalName(signal.By)
	}
	return r.cause
}

// heard notes why the context of a scenario ended.
func (r *runner) heard(ctx context.Context) {
	if ctx.Err() != nil && r.cause == "" {
		r.cause = context.Cause(ctx).Error()
	}
}

func (r result) summary() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.why
}

// verdictWord is what a person reads first.
func verdictWord(s scenario.Spec, r result) string {
	if r.err != nil {
		return "FAILED"
	}
	if r.unsupported {
		return "NOT SUPPORTED"
	}
	if r.interrupted {
		return "INTERRUPTED"
	}
	mutant := map[verdict.Outcome]string{verdict.Held: "CAUGHT", verdict.Violated: "MISSED", verdict.Unknown: "UNKNOWN"}
	plain := map[verdict.Outcome]string{verdict.Held: "HELD", verdict.Violated: "VIOLATED", verdict.Unknown: "UNKNOWN"}
	if r.escaped {
		return "NOT CAUGHT"
	}
	if s.Mutant != nil {
		return mutant[r.outcome]
	}
	return plain[r.outcome]
}

// remediesOf are a line for each remedy of a result.
func remediesOf(r result) (lines []string) {
	for _, remedy := range r.remedies {
		lines = append(lines, remedy.Title()+": "+remedy.String())
	}
	return lines
}

// joined is errors.Join without repetitions. A record that cannot be written refuses every further event with the same error.
func joined(errs ...error) error {
	var kept []error
	for _, err := range errs {
		if err == nil || slices.ContainsFunc(kept, func(other error) bool { return errors.Is(other, err) }) {
			continue
		}
		kept = append(kept, err)
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}
