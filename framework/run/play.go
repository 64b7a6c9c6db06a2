package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// revertLimit bounds all reverts of a scenario together. Starting a killed node takes seconds, rolling back trials takes minutes, and
// a starved machine gets minutes, because a fault that is not reverted spoils the next scenario.
const revertLimit = 10 * time.Minute

// record is what a play writes to; *history.Writer is one.
type record interface {
	Now() history.Offset
	Append(history.Event) error
}

// play is the part of a scenario during which load flows: steady, disturbed, recovered.
type play struct {
	spec   scenario.Spec
	target fault.Target
	record record
	// undisturbed is asked at the end of the steady phase whether there is anything to disturb; nil: there is.
	undisturbed func() error
	// tell reports progress to the user.
	tell func(phase history.PhaseName, doing string)
	// injections are the faults that were begun, by their numbers; nil: the fault was reverted, or panicked while it was planned.
	injections []*fault.Injection
	failed     bool // nothing can be proven any more, and so no witness is asked again
	steps      int  // how many were begun
	// leave leaves the faults in force where a fault fails; see Settings.LeaveBroken.
	leave bool
	// hold records in the cluster which faults are in force, before they are, for a process that finds it after this one was killed, and
	// interrupt lists what is to be reverted. Both may be nil.
	hold      *hold.Hold
	interrupt *interrupt.Process
	inForce   map[int]func() // tells interrupt that a fault is reverted, by the faults' numbers
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

// disturb injects the faults in order, holds them, and reverts them in reverse order. A fault of kind RevertImmediately is reverted
// before the next one. The witness of a fault is asked before its revert whether the fault is still in force.
func (p *play) disturb(ctx context.Context) (err error) {
	p.injections, p.inForce = nil, map[int]func(){}
	if err := p.announce(ctx); err != nil {
		return err
	}
	defer func() {
		p.failed = err != nil
		if err != nil && p.leave && ctx.Err() == nil {
			p.tell(history.Disturbed, "left as it is, to be looked at")
			return
		}
		err = joined(err, p.revertFrom(ctx, 0))
		if len(p.inForce) == 0 {
			p.hold.Unmark()
		}
	}()
	defer noPanic(&err)
	for i, f := range p.spec.Faults {
		if err := p.inject(ctx, i); err != nil {
			err = fmt.Errorf("%s: %w", f, err)
			return joined(err, p.mark(i, failedMark(err)))
		}
		if _, now := f.(fault.RevertImmediately); now {
			if err := p.revertFrom(ctx, i); err != nil {
				return err
			}
		}
	}
	if p.spec.Hold > 0 {
		p.tell(history.Disturbed, "holding for "+p.spec.Hold.String())
	}
	return poll.Pass(ctx, p.spec.Hold)
}

// inject injects one fault, and records what its witness saw.
func (p *play) inject(ctx context.Context, id int) error {
	f := p.spec.Faults[id]
	p.injections = append(p.injections, nil)
	p.tell(history.Disturbed, f.String())
	if err := p.mark(id, history.FaultMark{Stage: history.Injecting}); err != nil {
		return err
	}
	p.inForce[id] = p.interrupt.Add(interrupt.Pending{Undo: "undo " + f.String(), Done: f.String() + ": undone"})
	in, err := fault.Plan(ctx, f, p.targetOf(id))
	p.injections[id] = in
	if err != nil {
		return err
	}
	return in.Apply(ctx, func(seen fault.Observation) {
		_ = p.mark(id, history.FaultMark{ // a record that cannot be written is noticed when it is closed
			Stage: history.Seen, Nodes: seen.Nodes, Pods: seen.Pods, Witness: seen.Witness, Hit: seen.Hit, Processes: seen.Processes,
		})
	})
}

// announce marks the cluster with the faults that will be injected, for a process that finds it after this one was killed.
func (p *play) announce(ctx context.Context) error {
	if len(p.spec.Faults) == 0 {
		return nil
	}
	var all []string
	for _, f := range p.spec.Faults {
		all = append(all, f.String())
	}
	return p.hold.Mark(ctx, p.spec.Name+": "+strings.Join(all, ", "))
}

// failedMark is why a fault was not seen, and whether the environment cannot run it.
func failedMark(err error) history.FaultMark {
	m := history.FaultMark{Stage: history.Seen, Error: err.Error()}
	if no := (*fault.NotSupported)(nil); errors.As(err, &no) {
		m.NotSupported = no.Error()
	}
	return m
}

// revertFrom reverts the faults from a number on, the last first. It does not stop at an error: the others have to be reverted all
// the same.
func (p *play) revertFrom(caller context.Context, first int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), revertLimit)
	defer cancel()
	var errs []error
	for id := len(p.injections) - 1; id >= first; id-- {
		if p.injections[id] == nil {
			continue
		}
		errs = append(errs, p.ask(caller, id))
		p.tell(history.Disturbed, "reverting: "+p.spec.Faults[id].String())
		errs = append(errs, p.mark(id, history.FaultMark{Stage: history.Healing}))
		err := p.revert(ctx, id)
		p.injections[id] = nil // it was reverted, however that ended
		if err != nil {
			err = fmt.Errorf("undo %s: %w", p.spec.Faults[id], err)
			errs = append(errs, err, p.mark(id, history.FaultMark{Stage: history.Healed, Error: err.Error()}))
			continue
		}
		p.inForce[id]()
		delete(p.inForce, id)
	}
	return joined(errs...)
}

// revert reverts one fault, and turns a panic into an error, because the other faults are reverted after it.
func (p *play) revert(ctx context.Context, id int) (err error) {
	defer noPanic(&err)
	return p.injections[id].Revert(ctx, func(witness string) {
		_ = p.mark(id, history.FaultMark{Stage: history.Healed, Witness: witness})
	})
}

// ask records whether a fault is still in force. If it is not, something other than the runner reverted it at an unknown time: the
// run continues, but the verdict will be Unknown.
func (p *play) ask(ctx context.Context, id int) error {
	in := p.injections[id]
	if p.failed || !in.Askable() || ctx.Err() != nil {
		return nil //nolint:nilerr // that the caller gave up is an error of its own
	}
	active := false
	m := history.FaultMark{Stage: history.Lasting}
	err := poll.Until(ctx, "a look at what is left of "+p.spec.Faults[id].String(), fault.LookLimit,
		func(ctx context.Context) (_ bool, saw string, err error) {
			defer noPanic(&err)
			active, m.Witness, err = in.Active(ctx)
			return err == nil, m.Witness, err
		})
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // as above
	case err != nil:
		m.Witness, m.Error = "", err.Error()
	case !active:
		m.Witness, m.Error = "", "it was over before its undo began: "+m.Witness
	}
	return p.mark(id, m)
}

// noPanic, deferred, turns a panic into an error.
func noPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
	}
}

func (p *play) phase(name history.PhaseName, doing string) error {
	p.tell(name, doing)
	return p.record.Append(history.Event{T: p.record.Now(), Phase: &history.Phase{Name: name}})
}

func (p *play) mark(id int, m history.FaultMark) error {
	m.ID, m.Name = id, p.spec.Faults[id].String()
	return p.record.Append(history.Event{T: p.record.Now(), Fault: &m})
}

// targetOf is the target with a recorder that knows the fault's number.
func (p *play) targetOf(id int) fault.Target {
	t := p.target
	t.Record = &marker{play: p, id: id}
	return t
}

// marker records what one fault does. A record that cannot be written is noticed when it is closed.
type marker struct {
	play *play
	id   int
}

func (m *marker) Step(s history.Step, do func() error) (err error) {
	p := m.play
	s.ID, s.Stage = p.steps, history.StepBegin
	p.steps++
	at := s.What
	if s.Node != "" {
		at = s.Node + ": " + s.What
	}
	p.tell(history.Disturbed, at)
	if err := p.record.Append(history.Event{T: p.record.Now(), Step: new(s)}); err != nil {
		return err
	}
	defer func() {
		s.Stage = history.StepEnd
		if err != nil {
			s.Error = err.Error()
			err = fmt.Errorf("%s: %w", at, err)
		}
		err = errors.Join(err, p.record.Append(history.Event{T: p.record.Now(), Step: &s}))
	}()
	return do()
}

func (m *marker) Note(e history.Event) {
	if e.Reach != nil {
		e.Reach.Fault = m.id
	}
	e.T = m.play.record.Now()
	_ = m.play.record.Append(e)
}
