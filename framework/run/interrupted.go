package run

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// keepInterrupted adds a scenario that was interrupted before there was a record of it.
func (r *runner) keepInterrupted(s scenario.Spec) result {
	const where = "interrupted before it was deployed"
	return r.add(history.ScenarioResult{
		Name: s.Name, Dir: s.Name, Claim: s.Claim, Took: time.Since(r.began), Mutant: s.Mutant, Interrupted: where,
		Reproduce: r.settings.Reproduce(s.Name, r.kubernetes),
	}, result{outcome: verdict.Unknown, interrupted: true, why: where})
}

// interruption says by what the run was interrupted: a signal, or what stopped it. Empty: by a signal that only Ginkgo knows of.
func (r *runner) interruption() string {
	var signal interrupt.Signal
	switch {
	case r.stop != nil:
		return r.stop.Error()
	case errors.As(r.settings.Interrupt.Cause(), &signal):
		return unix.SignalName(signal.By)
	case r.cause == byUser:
		return ""
	}
	return r.cause
}

// byUser is Ginkgo's word for a signal.
const byUser = "Interrupted by User"

// heard remembers why the context of a scenario ended.
func (r *runner) heard(ctx context.Context) {
	if ctx.Err() != nil && r.cause == "" {
		r.cause = context.Cause(ctx).Error()
	}
}
