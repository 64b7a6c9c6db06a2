package fault

import (
	"context"
	"sync/atomic"
	"time"
)

// Effect is a Disruption made of functions, which share what Plan has found. Only See is needed.
type Effect struct {
	// Do disrupts the target.
	Do func(context.Context) error
	// See asks the witness whether the disruption has taken effect.
	See func(context.Context) (active bool, seen Observation, err error)
	// Ask asks the witness whether a disruption that has taken effect is still in force; nil: See does. What another fault of the
	// scenario does to the target must not make it false.
	Ask func(context.Context) (active bool, saw string, err error)
	// Undo reverts the disruption; nil: nothing is to be undone.
	Undo func(context.Context) error
	// Restore waits until what was disrupted is as before, and returns what was seen; nil: nothing is to be awaited.
	Restore func(context.Context) (witness string, err error)
	// Then follows once the disruption was seen; nil: nothing does.
	Then func(context.Context) error
	// Finally runs after the revert, also after one that failed; nil: nothing does.
	Finally func(context.Context) error

	// Until names what See waits for, for at most Limit. Without Until the wait has the fault's name and a default limit.
	Until string
	Limit time.Duration
	// Over is why no witness could say later whether the disruption is in force, such as "a deleted pod stays deleted".
	Over string
	// Stays marks a disruption that no revert ends.
	Stays bool

	lasting, reverted atomic.Bool // it has taken effect; its revert has begun
}

// Apply implements Disruption.
func (e *Effect) Apply(ctx context.Context) error { return run(ctx, e.Do) }

// Active implements Disruption.
func (e *Effect) Active(ctx context.Context) (bool, Observation, error) {
	if e.Ask != nil && e.lasting.Load() && !e.reverted.Load() {
		active, saw, err := e.Ask(ctx)
		return active, Observation{Witness: saw}, err
	}
	active, seen, err := e.See(ctx)
	if active && err == nil {
		e.lasting.Store(true)
	}
	return active, seen, err
}

// Revert implements Disruption.
func (e *Effect) Revert(ctx context.Context) error {
	e.reverted.Store(true)
	return run(ctx, e.Undo)
}

// Awaiting implements Awaited.
func (e *Effect) Awaiting() (what string, limit time.Duration) { return e.Until, e.Limit }

// Momentary implements Unaskable.
func (e *Effect) Momentary() string { return e.Over }

// Irreversible implements Permanent.
func (e *Effect) Irreversible() bool { return e.Stays }

// Follow implements Follower.
func (e *Effect) Follow(ctx context.Context) error { return run(ctx, e.Then) }

// Restored implements Restorer.
func (e *Effect) Restored(ctx context.Context) (string, error) {
	if e.Restore == nil {
		return "no longer active", nil
	}
	return e.Restore(ctx)
}

// Finish implements Finisher.
func (e *Effect) Finish(ctx context.Context) error { return run(ctx, e.Finally) }

// Settling is an Effect whose Do does what is given and waits itself until the workload has settled with it. Once it has, Ask is the
// witness; what Do saw is recorded.
func Settling(e *Effect, do func(context.Context) (Observation, error)) *Effect {
	var settled Observation
	done := false
	e.Do = func(ctx context.Context) (err error) {
		settled, err = do(ctx)
		done = err == nil
		return err
	}
	e.See = func(ctx context.Context) (bool, Observation, error) {
		if !done { // nothing can be in force
			return false, Observation{Witness: "not settled with it"}, nil
		}
		if e.Ask == nil {
			return true, settled, nil
		}
		active, saw, err := e.Ask(ctx)
		if !active || err != nil {
			return active, Observation{Witness: saw}, err
		}
		return true, settled, nil
	}
	return e
}

func run(ctx context.Context, do func(context.Context) error) error {
	if do == nil {
		return nil
	}
	return do(ctx)
}
