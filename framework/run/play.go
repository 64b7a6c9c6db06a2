package run

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// healLimit bounds all undos of a scenario together. Starting a killed worker takes seconds, rolling back trials minutes; a starved
// machine gets minutes, because what is not undone spoils the next scenario.
const healLimit = 10 * time.Minute

// askLimit bounds how long a fault's witness may be unable to look, before the fault's undo begins: the API server may be
// away for a moment.
const askLimit = 30 * time.Second

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
	// tell hears what happens now, for whoever watches.
	tell func(phase history.PhaseName, doing string)
	// lasting are the witnesses to be asked again before the undo, by the faults' numbers.
	lasting map[int]fault.Lasting
	steps   int // so many were begun
	// leave has nothing undone where a fault fails; see Settings.LeaveBroken.
	leave bool
	// hold hears which faults are in force, before they are, and interrupt what is to be undone. Both may be nil.
	hold      *hold.Hold
	interrupt *interrupt.Process
	inForce   map[int]func() // tells interrupt that a fault is undone, by the faults' numbers
}

// run plays the phases. Whatever happens in between (an error, a panic, the end of ctx), every fault that was begun is
// undone before it returns.
func (p *play) run(ctx context.Context) (err error) {
	if err := p.phase(history.Steady, "load flows, nothing is disturbed"); err != nil {
		return err
	}
	if err := poll.Pass(ctx, p.spec.Steady); err != nil {
		return fmt.Errorf("steady phase: %w", err)
	}
	if err := p.phase(history.Disturbed, ""); err != nil {
		return err
	}
	if err := p.disturb(ctx); err != nil {
		return err
	}
	if err := p.phase(history.Recovered, "every fault is undone, load still flows"); err != nil {
		return err
	}
	if err := poll.Pass(ctx, p.spec.Recovered); err != nil {
		return fmt.Errorf("recovered phase: %w", err)
	}
	return nil
}

// disturb injects the faults in order, holds them, and undoes them in reverse order. A brief one is undone before the next. Of a fault that was held to the end, the
// witness is asked before its undo whether it is still in force.
func (p *play) disturb(ctx context.Context) (err error) {
	var heals []fault.Heal
	p.lasting, p.inForce = map[int]fault.Lasting{}, map[int]func(){}
	if err := p.announce(ctx); err != nil {
		return err
	}
	defer func() {
		if err != nil { // nothing can be proven any more, so nobody is asked
			p.lasting = nil
		}
		if err != nil && p.leave && ctx.Err() == nil {
			p.tell(history.Disturbed, "left as it is, to be looked at")
			return
		}
		err = joined(err, p.heal(ctx, heals))
		if len(p.inForce) == 0 {
			p.hold.Unmark()
		}
	}()
	defer noPanic(&err)
	for i, f := range p.spec.Faults {
		heals = append(heals, nil)
		p.tell(history.Disturbed, f.String())
		if err := p.mark(i, history.FaultMark{Stage: history.Injecting}); err != nil {
			return err
		}
		p.inForce[i] = p.interrupt.Add(interrupt.Pending{Undo: "undo " + f.String(), Done: f.String() + ": undone"})
		heal, err := f.Inject(ctx, p.targetOf(i))
		heals[i] = heal
		if err != nil {
			err = fmt.Errorf("%s: %w", f, err)
			return joined(err, p.mark(i, failedMark(err)))
		}
		if _, brief := f.(fault.Brief); brief {
			heals[i] = nil // it has been done, however it ends
			if err := p.heal(ctx, append(make([]fault.Heal, i), heal)); err != nil {
				return err
			}
		}
	}
	if p.spec.Hold > 0 {
		p.tell(history.Disturbed, "holding for "+p.spec.Hold.String())
	}
	return poll.Pass(ctx, p.spec.Hold)
}

// announce leaves a mark in the cluster of what will be done to it: whoever finds it after this process was killed knows.
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

// failedMark says why a fault was not seen, and whether that is because it cannot be done here.
func failedMark(err error) history.FaultMark {
	m := history.FaultMark{Stage: history.Seen, Error: err.Error()}
	if no := (*fault.NotSupported)(nil); errors.As(err, &no) {
		m.NotSupported = no.Error()
	}
	return m
}

// heal undoes faults, the last first. It does not stop at an error: the others have to be undone all the same.
func (p *play) heal(caller context.Context, heals []fault.Heal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(caller), healLimit)
	defer cancel()
	var errs []error
	for i := len(heals) - 1; i >= 0; i-- {
		if heals[i] == nil { // Inject panicked before it returned, or it was undone already
			continue
		}
		errs = append(errs, p.ask(caller, i))
		p.tell(history.Disturbed, "undoing: "+p.spec.Faults[i].String())
		errs = append(errs, p.mark(i, history.FaultMark{Stage: history.Healing}))
		if err := undo(ctx, heals[i]); err != nil {
			err = fmt.Errorf("undo %s: %w", p.spec.Faults[i], err)
			errs = append(errs, err, p.mark(i, history.FaultMark{Stage: history.Healed, Error: err.Error()}))
			continue
		}
		p.inForce[i]()
		delete(p.inForce, i)
	}
	return joined(errs...)
}

// ask writes down whether a fault is still in force. One that is not, was undone by somebody else, nobody knows when: that is
// no error, but evidence that is missing.
func (p *play) ask(ctx context.Context, id int) error {
	still, known := p.lasting[id]
	if !known || ctx.Err() != nil {
		return nil //nolint:nilerr // that the caller gave up is an error of its own
	}
	holds := false
	m := history.FaultMark{Stage: history.Lasting}
	err := poll.Until(ctx, "a look at what is left of "+p.spec.Faults[id].String(), askLimit,
		func(ctx context.Context) (_ bool, saw string, err error) {
			defer noPanic(&err)
			holds, m.Witness, err = still(ctx)
			return err == nil, m.Witness, err
		})
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // as above
	case err != nil:
		m.Witness, m.Error = "", err.Error()
	case !holds:
		m.Witness, m.Error = "", "it was over before its undo began: "+m.Witness
	}
	return p.mark(id, m)
}

// undo is heal, but that a panic in it is an error: the other undos come after it.
func undo(ctx context.Context, heal fault.Heal) (err error) {
	defer noPanic(&err)
	return heal(ctx)
}

// noPanic, deferred, makes an error of a panic.
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

// targetOf is the target with a recorder that knows which fault speaks.
func (p *play) targetOf(id int) fault.Target {
	t := p.target
	t.Record = &marker{play: p, id: id}
	return t
}

// marker writes down what one fault and its witness saw. A record that cannot be written is noticed when it is closed.
type marker struct {
	play *play
	id   int
	hit  int // probes of the witness
	gone int // processes of a component
}

func (m *marker) Seen(nodes, pods []string, witness string) {
	_ = m.play.mark(m.id, history.FaultMark{Stage: history.Seen, Nodes: nodes, Pods: pods, Witness: witness, Hit: m.hit, Processes: m.gone})
}

func (m *marker) Hit(probes int) { m.hit = probes }

func (m *marker) Gone(processes int) { m.gone = processes }

func (m *marker) Lasts(still fault.Lasting) { m.play.lasting[m.id] = still }

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

func (m *marker) Tried(answer history.Admission) {
	r := m.play.record
	_ = r.Append(history.Event{T: r.Now(), Admission: &answer})
}

func (m *marker) Healed(witness string) {
	_ = m.play.mark(m.id, history.FaultMark{Stage: history.Healed, Witness: witness})
}

func (m *marker) Audited(a history.Audit) {
	_ = m.play.record.Append(history.Event{T: m.play.record.Now(), Audit: &a})
}

func (m *marker) Reached(how history.Reach) {
	how.Fault = m.id
	_ = m.play.record.Append(history.Event{T: m.play.record.Now(), Reach: &how})
}
