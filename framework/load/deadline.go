package load

import (
	"context"
	"time"
)

// deadline is a context with a deadline that can be reset. A new context for every request would cost more than the rest of this
// package.
type deadline struct {
	parent context.Context
	ctx    context.Context
	timer  *time.Timer
}

// errDeadline is the cause of a deadline's context. It is a time-out, as those of package net are.
type errDeadline struct{}

func (errDeadline) Error() string { return "the request's time-out passed" }

// Timeout marks the error as a time-out.
func (errDeadline) Timeout() bool { return true }

// renew makes a new context, whose deadline has not passed.
func (d *deadline) renew() {
	if d.timer != nil {
		d.timer.Stop()
	}
	ctx, cancel := context.WithCancelCause(d.parent)
	d.ctx = ctx
	d.timer = time.AfterFunc(time.Hour, func() { cancel(errDeadline{}) })
	d.timer.Stop()
}

// set makes the deadline pass after that time, and overrides an earlier setting.
func (d *deadline) set(after time.Duration) { d.timer.Reset(after) }

// clear removes the deadline, and reports whether the context is still usable: the deadline has not passed.
func (d *deadline) clear() bool { return d.timer.Stop() }
