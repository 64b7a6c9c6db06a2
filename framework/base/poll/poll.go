// Package poll waits for a condition until a time limit, and reports what was last seen if the limit passes.
//
// It is the only place in the framework that waits. It does not retry actions: a check must be safe to repeat.
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Interval is the time between two checks: short enough to date what a witness sees, long enough to be cheap.
const Interval = 250 * time.Millisecond

// Check looks once. It reports whether the condition holds, and what it saw, in words ("Ready=True"). An error does not end the
// wait, because an API server may be unreachable for a while. The last error is reported if the limit passes.
type Check func(context.Context) (done bool, saw string, err error)

// most is the longest pause between two checks. An API server that is away is asked again soon.
const most = time.Second

// pause is how long to wait after a check that took some time: until the interval is over. Slow checks take at most a fifth of the
// time, because they make a machine that is short of processor time slower for what is tested. On such a machine, the checks of a
// rollout were half of all requests to the API server.
func pause(took time.Duration) time.Duration {
	return max(Interval-took, min(4*took, most))
}

// Listener is told, while a wait goes on, what it awaits and what its last check saw or could not see; over: the wait has ended.
// Waits that go on at the same time call it at the same time.
type Listener func(what, saw string, over bool)

type listening struct{}

// Listen returns a context in which each Until tells l of its checks.
func Listen(ctx context.Context, l Listener) context.Context {
	return context.WithValue(ctx, listening{}, l)
}

func listenerOf(ctx context.Context) Listener {
	if l, ok := ctx.Value(listening{}).(Listener); ok {
		return l
	}
	return func(string, string, bool) {}
}

// Until repeats check until it is done, for at most limit. what names the awaited condition: "node w3 to be NotReady". The
// error contains how long Until waited, what it last saw, and the last error.
func Until(ctx context.Context, what string, limit time.Duration, check Check) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began, tell := time.Now(), listenerOf(ctx)
	defer tell(what, "", true)
	last := sight{saw: "nothing"}
	for {
		asked := time.Now()
		done, saw, err := check(ctx)
		last.note(saw, err)
		if err == nil && done {
			return nil
		}
		if err != nil {
			saw = err.Error()
		}
		tell(what, saw, false)
		if Pass(ctx, pause(time.Since(asked))) != nil {
			return fmt.Errorf("waited %s for %s: %s: %w",
				time.Since(began).Round(100*time.Millisecond), what, last, context.Cause(ctx))
		}
	}
}

// Pass waits for a fixed time span, such as a minute of steady load. To wait for a condition, use Until.
func Pass(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return context.Cause(ctx) // both may have ended at once
	}
}

// sight is what the checks have seen so far.
type sight struct {
	saw    string
	err    error
	checks int
}

// note keeps the last thing seen and the last error. An error caused by our own time limit does not replace an earlier error.
func (s *sight) note(saw string, err error) {
	s.checks++
	if saw != "" {
		s.saw = saw
	}
	if !errors.Is(err, context.DeadlineExceeded) || s.err == nil {
		s.err = err
	}
}

func (s sight) String() string {
	lastErr := "none"
	if s.err != nil {
		lastErr = s.err.Error()
	}
	return fmt.Sprintf("last seen %s (%d checks, last error: %s)", s.saw, s.checks, lastErr)
}
