package load

import (
	"context"
	"time"
)

// alarm ends what a sender does when its time is up. It is a context with a deadline that can be set again, because a
// new context for every request costs more than all the rest of this package does.
type alarm struct {
	parent context.Context
	ctx    context.Context
	timer  *time.Timer
}

// errAlarm is the cause of an alarm's context.
type errAlarm struct{}

func (errAlarm) Error() string { return "the request's time-out passed" }

// Timeout makes it a time-out, as those of package net are.
func (errAlarm) Timeout() bool { return true }

// renew makes a new context, on which no alarm went off.
func (a *alarm) renew() {
	if a.timer != nil {
		a.timer.Stop()
	}
	ctx, cancel := context.WithCancelCause(a.parent)
	a.ctx = ctx
	a.timer = time.AfterFunc(time.Hour, func() { cancel(errAlarm{}) })
	a.timer.Stop()
}

// set has the alarm go off after that time, and no longer at an earlier setting's.
func (a *alarm) set(after time.Duration) { a.timer.Reset(after) }

// off disarms it. It tells whether the context is still good: that it did not go off before.
func (a *alarm) off() bool { return a.timer.Stop() }
