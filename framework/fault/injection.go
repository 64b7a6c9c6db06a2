package fault

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

const (
	// LookLimit bounds how long a witness may be unable to look: the API server may be unreachable for a moment.
	LookLimit = 30 * time.Second
	// activeLimit bounds the wait for a disruption that names no limit of its own.
	activeLimit = time.Minute
)

// Injection runs one fault, in the order that every fault has in common: not active before, applied, seen by its witness,
// perhaps asked again, reverted, seen to be gone. A fault counts as in force only once its witness has seen it, and as over only
// once its witness no longer sees it.
type Injection struct {
	fault      Fault
	disruption Disruption // nil until it is planned
	begun      bool
	seen       bool

	revert  sync.Once
	failure error // of the revert
}

// The optional interfaces of a Disruption.
type (
	// Awaited names the condition that Active waits for, such as "node w2 to be dead", and bounds the wait.
	Awaited interface {
		Awaiting() (what string, limit time.Duration)
	}
	// Unaskable is a Disruption of which no witness can say later whether it is still in force. A reason that is not empty says
	// why: what was done was over as soon as it was seen.
	Unaskable interface{ Momentary() (reason string) }
	// Permanent is a Disruption that stays in force when it was reverted, such as an upgrade.
	Permanent interface{ Irreversible() bool }
	// Follower does something once the disruption was seen and recorded.
	Follower interface {
		Follow(ctx context.Context) error
	}
	// Restorer waits after Revert until what was disrupted is as before, and returns what the witness saw, in words. Empty words
	// mean that no witness saw it.
	Restorer interface {
		Restored(ctx context.Context) (witness string, err error)
	}
	// Finisher ends what Apply has begun beside the disruption. It runs after the revert, also after one that failed.
	Finisher interface {
		Finish(ctx context.Context) error
	}
)

// Plan picks what a fault will disrupt. The Injection is not nil even if err is not: its Revert does nothing then.
func Plan(ctx context.Context, f Fault, t Target) (*Injection, error) {
	in := &Injection{fault: f}
	d, err := f.Plan(ctx, t)
	if err == nil {
		in.disruption = d
	}
	return in, err
}

// Apply applies the fault, and returns when its witness has seen it and what follows is done. A fault that its witness sees before
// anything was done is an error, since its witness would prove nothing. Record is called with what the witness saw.
func (in *Injection) Apply(ctx context.Context, record func(Observation)) error {
	var before Observation
	var active bool
	err := poll.Until(ctx, "a look before "+in.fault.String(), LookLimit, func(ctx context.Context) (_ bool, _ string, err error) {
		active, before, err = in.disruption.Active(ctx)
		return err == nil, before.Witness, err
	})
	switch {
	case err != nil:
		return err
	case active:
		return fmt.Errorf("%s: it is already active before it was applied: %s", in.fault, before.Witness)
	}
	in.begun = true
	if err := in.disruption.Apply(ctx); err != nil {
		return err
	}
	seen, err := in.awaitActive(ctx)
	if err != nil {
		return err
	}
	in.seen = true
	record(seen)
	if f, is := in.disruption.(Follower); is {
		return f.Follow(ctx)
	}
	return nil
}

// awaitActive polls the witness until it sees the disruption.
func (in *Injection) awaitActive(ctx context.Context) (seen Observation, err error) {
	var final *FinalError
	what, limit := in.awaiting()
	err = poll.Until(ctx, what, limit, func(ctx context.Context) (active bool, _ string, err error) {
		active, seen, err = in.disruption.Active(ctx)
		if errors.As(err, &final) {
			return true, seen.Witness, nil
		}
		return active, seen.Witness, err
	})
	if final != nil {
		err = final.Err
	}
	return seen, err
}

func (in *Injection) awaiting() (what string, limit time.Duration) {
	if d, is := in.disruption.(Awaited); is {
		if what, limit = d.Awaiting(); what != "" {
			return what, limit
		}
	}
	return in.fault.String() + " to be active", activeLimit
}

// Seen reports whether the witness has seen the fault.
func (in *Injection) Seen() bool { return in.seen }

// Askable reports whether Active has an answer: the fault was seen, and it lasts.
func (in *Injection) Askable() bool { return in.seen && in.Momentary() == "" }

// Active asks the witness once whether the fault is still in force, and returns what it saw, in words.
func (in *Injection) Active(ctx context.Context) (active bool, saw string, err error) {
	active, seen, err := in.disruption.Active(ctx)
	return active, seen.Witness, err
}

// Momentary is why no witness can say later whether the fault is in force; empty: one can.
func (in *Injection) Momentary() string {
	if d, is := in.disruption.(Unaskable); is {
		return d.Momentary()
	}
	return ""
}

// Revert reverts what Apply has begun, and returns when the witness no longer sees the disruption and what was disrupted is as
// before. Record is called with what the witness saw then. Calling Revert again only returns the first call's error.
func (in *Injection) Revert(ctx context.Context, record func(witness string)) error {
	in.revert.Do(func() {
		if in.begun {
			in.failure = in.revertOnce(ctx, record)
		}
	})
	return in.failure
}

func (in *Injection) revertOnce(ctx context.Context, record func(witness string)) (err error) {
	if f, is := in.disruption.(Finisher); is {
		defer func() { err = errors.Join(err, f.Finish(ctx)) }()
	}
	if err := in.disruption.Revert(ctx); err != nil {
		return err
	}
	if err := in.awaitInactive(ctx); err != nil {
		return err
	}
	witness := "no longer active"
	if d, is := in.disruption.(Restorer); is {
		if witness, err = d.Restored(ctx); err != nil {
			return err
		}
	}
	if witness != "" {
		record(witness)
	}
	return nil
}

// awaitInactive polls the witness until it no longer sees the disruption, unless that has no end or ended long ago.
func (in *Injection) awaitInactive(ctx context.Context) error {
	permanent, is := in.disruption.(Permanent)
	if is && permanent.Irreversible() || in.Momentary() != "" {
		return nil
	}
	_, limit := in.awaiting()
	return poll.Until(ctx, in.fault.String()+" to be over", limit, func(ctx context.Context) (bool, string, error) {
		active, seen, err := in.disruption.Active(ctx)
		if final := (*FinalError)(nil); errors.As(err, &final) {
			err = nil // it was about how the disruption began
		}
		return !active, seen.Witness, err
	})
}

// FinalError is an error of Active for which waiting is of no use.
type FinalError struct{ Err error }

func (e *FinalError) Error() string { return e.Err.Error() }

func (e *FinalError) Unwrap() error { return e.Err }
