package run

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/injecting"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// play is the part of a scenario during which load flows: steady, disturbed, recovered.
type play struct {
	spec   scenario.Spec
	target fault.Target
	record injecting.Record
	// undisturbed is asked at the end of the steady phase whether there is anything to disturb; nil: there is.
	undisturbed func() error
	// tell reports progress to the user.
	tell func(phase history.PhaseName, doing string)
	// leave leaves the faults in force where a fault fails; see Settings.LeaveBroken.
	leave bool
	// hold records in the cluster which faults are in force, before they are, and interrupt lists what is to be reverted. Both may be
	// nil.
	hold      *hold.Hold
	interrupt *interrupt.Process
}

// run plays the phases. Whatever happens in between (an error, a panic, the end of ctx), every fault that was begun is
// reverted before run returns.
func (p *play) run(ctx context.Context) (err error) {
	if err := p.phase(history.Steady, "load flows, nothing is disturbed"); err != nil {
		return err
	}
	if err := poll.Pass(ctx, p.spec.Steady); err != nil {
		return fmt.Errorf("steady phase: %w", err)
	}
	if p.undisturbed != nil {
		if err := p.undisturbed(); err != nil {
			return err
		}
	}
	if err := p.phase(history.Disturbed, ""); err != nil {
		return err
	}
	if err := p.disturb(ctx); err != nil {
		return err
	}
	if err := p.phase(history.Recovered, "every fault is reverted, load still flows"); err != nil {
		return err
	}
	if err := poll.Pass(ctx, p.spec.Recovered); err != nil {
		return fmt.Errorf("recovered phase: %w", err)
	}
	return nil
}

// disturb injects the faults, holds them, and reverts them.
func (p *play) disturb(ctx context.Context) error {
	faults := &injecting.Sequence{
		Name: p.spec.Name, Faults: p.spec.Faults, Hold: p.spec.Hold, Target: p.target, Record: p.record, Tell: p.tell, Leave: p.leave,
		Held: p.hold, Interrupt: p.interrupt,
	}
	return faults.Run(ctx)
}

func (p *play) phase(name history.PhaseName, doing string) error {
	p.tell(name, doing)
	return p.record.Append(history.Event{T: p.record.Now(), Phase: &history.Phase{Name: name}})
}
