// Package injecting injects faults one after the other while something is recorded: each is planned, applied, seen by its witness, held, asked
// again, and reverted, and each of these moments is in the record.
//
// It knows nothing of load, and judges nothing. What a fault does is package fault's.
package injecting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// revertLimit bounds all reverts of a scenario together. Starting a killed node takes seconds, rolling back trials takes minutes, and
// a starved machine gets minutes, because a fault that is not reverted spoils the next scenario.
const revertLimit = 10 * time.Minute

// Record is what is written to; *history.Writer is one.
type Record interface {
	Now() history.Offset
	Append(history.Event) error
}

// Sequence is some faults, and what they are injected into.
type Sequence struct {
	// Name is that of the scenario. Its Faults are injected in order, held for Hold, and reverted in reverse order.
	Name   string
	Faults []fault.Fault
	Hold   time.Duration
	Target fault.Target
	Record Record
	// Tell reports progress to the user.
	Tell func(phase history.PhaseName, doing string)
	// Leave leaves the faults in force where a fault fails, for inspection.
	Leave bool
	// Held records in the cluster which faults are in force, before they are, and Interrupt lists what is to be reverted. Both may be
	// nil.
	Held      *hold.Hold
	Interrupt *interrupt.Process

	// injections are the faults that were begun, by their numbers; nil: the fault was reverted, or panicked while it was planned.
	injections []*fault.Injection
	failed     bool           // nothing can be proven any more, and so no witness is asked again
	steps      int            // how many were begun
	inForce    map[int]func() // tells Interrupt that a fault is reverted, by the faults' numbers
}

// Run injects the faults in order, holds them, and reverts them in reverse order. A fault of kind RevertImmediately is reverted
// before the next one. The witness of a fault is asked before its revert whether the fault is still in force. Whatever
// happens in between (an error, a panic, the end of ctx), every fault that was begun is reverted before Run returns.
func (p *Sequence) Run(ctx context.Context) (err error) {
	p.injections, p.inForce = nil, map[int]func(){}
	if err := p.announce(ctx); err != nil {
		return err
	}
	defer func() {
		p.failed = err != nil
		if err != nil && p.Leave && ctx.Err() == nil {
			p.Tell(history.Disturbed, "left as it is, to be looked at")
			return
		}
		err = Joined(err, p.revertFrom(ctx, 0))
		if len(p.inForce) == 0 {
			p.Held.Unmark()
		}
	}()
	defer NoPanic(&err)
	for i, f := range p.Faults {
		if err := p.inject(ctx, i); err != nil {
			err = fmt.Errorf("%s: %w", f, err)
			return Joined(err, p.mark(i, failedMark(err)))
		}
		if _, now := f.(fault.RevertImmediately); now {
			if err := p.revertFrom(ctx, i); err != nil {
				return err
			}
		}
	}
	if p.Hold > 0 {
		p.Tell(history.Disturbed, "holding for "+p.Hold.String())
	}
	return poll.Pass(ctx, p.Hold)
}

// inject injects one fault, and records what its witness saw.
func (p *Sequence) inject(ctx context.Context, id int) error {
	f := p.Faults[id]
	p.injections = append(p.injections, nil)
	p.Tell(history.Disturbed, f.String())
	if err := p.mark(id, history.FaultMark{Stage: history.Injecting}); err != nil {
		return err
	}
	p.inForce[id] = p.Interrupt.Add(interrupt.Pending{Undo: "undo " + f.String(), Done: f.String() + ": undone"})
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
func (p *Sequence) announce(ctx context.Context) error {
	if len(p.Faults) == 0 {
		return nil
	}
	var all []string
	for _, f := range p.Faults {
		all = append(all, f.String())
	}
	return p.Held.Mark(ctx, p.Name+": "+strings.Join(all, ", "))
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
func (p *Sequence) revertFrom(caller context.Context, first int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), revertLimit)
	defer cancel()
	var errs []error
	for id := len(p.injections) - 1; id >= first; id-- {
		if p.injections[id] == nil {
			continue
		}
		errs = append(errs, p.ask(caller, id))
		p.Tell(history.Disturbed, "reverting: "+p.Faults[id].String())
		errs = append(errs, p.mark(id, history.FaultMark{Stage: history.Healing}))
		err := p.revert(ctx, id)
		p.injections[id] = nil // it was reverted, however that ended
		if err != nil {
			err = fmt.Errorf("undo %s: %w", p.Faults[id], err)
			errs = append(errs, err, p.mark(id, history.FaultMark{Stage: history.Healed, Error: err.Error()}))
			continue
		}
		p.inForce[id]()
		delete(p.inForce, id)
	}
	return Joined(errs...)
}

// revert reverts one fault, and turns a panic into an error, because the other faults are reverted after it.
func (p *Sequence) revert(ctx context.Context, id int) (err error) {
	defer NoPanic(&err)
	return p.injections[id].Revert(ctx, func(witness string) {
		_ = p.mark(id, history.FaultMark{Stage: history.Healed, Witness: witness})
	})
}

// ask records whether a fault is still in force. If it is not, something other than the runner reverted it at an unknown time: the
// run continues, but the verdict will be Unknown.
func (p *Sequence) ask(ctx context.Context, id int) error {
	in := p.injections[id]
	if p.failed || !in.Askable() || ctx.Err() != nil {
		return nil //nolint:nilerr // that the caller gave up is an error of its own
	}
	active := false
	m := history.FaultMark{Stage: history.Lasting}
	err := poll.Until(ctx, "a look at what is left of "+p.Faults[id].String(), fault.LookLimit,
		func(ctx context.Context) (_ bool, saw string, err error) {
			defer NoPanic(&err)
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

func (p *Sequence) mark(id int, m history.FaultMark) error {
	m.ID, m.Name = id, p.Faults[id].String()
	return p.Record.Append(history.Event{T: p.Record.Now(), Fault: &m})
}

// targetOf is the target with a recorder that knows the fault's number.
func (p *Sequence) targetOf(id int) fault.Target {
	t := p.Target
	t.Record = &marker{sequence: p, id: id}
	return t
}

// marker records what one fault does. A record that cannot be written is noticed when it is closed.
type marker struct {
	sequence *Sequence
	id       int
}

func (m *marker) Step(s history.Step, do func() error) (err error) {
	p := m.sequence
	s.ID, s.Stage = p.steps, history.StepBegin
	p.steps++
	at := s.What
	if s.Node != "" {
		at = s.Node + ": " + s.What
	}
	p.Tell(history.Disturbed, at)
	if err := p.Record.Append(history.Event{T: p.Record.Now(), Step: new(s)}); err != nil {
		return err
	}
	defer func() {
		s.Stage = history.StepEnd
		if err != nil {
			s.Error = err.Error()
			err = fmt.Errorf("%s: %w", at, err)
		}
		err = errors.Join(err, p.Record.Append(history.Event{T: p.Record.Now(), Step: &s}))
	}()
	return do()
}

func (m *marker) Note(e history.Event) {
	if e.Reach != nil {
		e.Reach.Fault = m.id
	}
	e.T = m.sequence.Record.Now()
	_ = m.sequence.Record.Append(e)
}
