package run

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// keepInterrupted adds a scenario that was interrupted before it had a record.
func (a *attempt) keepInterrupted(s scenario.Spec) result {
	const where = "interrupted before it was deployed"
	return a.add(runfolder.ScenarioResult{
		Name: s.Name, Dir: s.Name, Claim: s.Claim, Took: time.Since(a.began), Mutant: s.Mutant, Interrupted: where,
		Reproduce: a.settings.Reproduce(s.Name, a.kubernetes),
	}, result{outcome: verdict.Unknown, interrupted: true, why: where})
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
