package load

import (
	"context"
	"time"
)

// alarm is a context with a deadline that can be reset. A new context for every request would cost more than the rest of this
// package.
type alarm struct {
	parent context.Context
	ctx    context.Context
	timer  *time.Timer
}

// errAlarm is the cause of an alarm's context. It is a time-out, as those of package net are.
type errAlarm struct{}

func (errAlarm) Error() string { return "the request's time-out passed" }

// Timeout marks the error as a time-out.
func (errAlarm) Timeout() bool { return true }

// renew makes a new context, whose alarm has not gone off.
func (a *alarm) renew() {
	if a.timer != nil {
		a.timer.Stop()
	}
	ctx, cancel := context.WithCancelCause(a.parent)
	a.ctx = ctx
	a.timer = time.AfterFunc(time.Hour, func() { cancel(errAlarm{}) })
	a.timer.Stop()
}

// set makes the alarm go off after that time, and overrides an earlier setting.
func (a *alarm) set(after time.Duration) { a.timer.Reset(after) }

// off disarms the alarm, and reports whether the context is still usable: the alarm has not gone off.
func (a *alarm) off() bool { return a.timer.Stop() }
