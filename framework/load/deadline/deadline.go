// Package deadline bounds requests by a context that is used again and again. A new context for every request would cost more than the
// rest of sending it.
package deadline

import (
	"context"
	"time"
)

// Deadline is a context with a deadline that can be reset.
type Deadline struct {
	Parent context.Context
	// Ctx is the context until the next Renew.
	Ctx   context.Context
	timer *time.Timer
}

// Passed is the cause of a deadline's context. It is a time-out, as those of package net are.
type Passed struct{}

func (Passed) Error() string { return "the request's time-out passed" }

// Timeout marks the error as a time-out.
func (Passed) Timeout() bool { return true }

// Renew makes a new context, whose deadline has not passed.
func (d *Deadline) Renew() {
	if d.timer != nil {
		d.timer.Stop()
	}
	ctx, cancel := context.WithCancelCause(d.Parent)
	d.Ctx = ctx
	d.timer = time.AfterFunc(time.Hour, func() { cancel(Passed{}) })
	d.timer.Stop()
}

// Set makes the deadline pass after that time, and overrides an earlier setting.
func (d *Deadline) Set(after time.Duration) { d.timer.Reset(after) }

// Clear removes the deadline, and reports whether the context is still usable: the deadline has not passed.
func (d *Deadline) Clear() bool { return d.timer.Stop() }
