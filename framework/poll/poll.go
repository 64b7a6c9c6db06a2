// Package poll waits for a condition with a limit, and says what was last seen when the limit passes.
//
// It is the only place in the framework that waits. It does not retry actions: what is polled must be safe to ask again.
package poll

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Interval is the pause between two checks: short enough to date what a witness sees, long enough to cost nothing.
const Interval = 250 * time.Millisecond

// Check looks once. It says whether the condition holds, and what it saw, in words ("Ready=True"). An error is reported
// if the limit passes, and does not end the wait: an API server may be away for a while.
type Check func(context.Context) (done bool, saw string, err error)

// Until waits for check to be done, at most limit. What names the condition as a thing waited for: "node w3 to be
// NotReady". The error says how long it waited, what it last saw and the last error.
func Until(ctx context.Context, what string, limit time.Duration, check Check) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	began := time.Now()
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	last := sight{saw: "nothing"}
	for {
		done, saw, err := check(ctx)
		last.note(saw, err)
		if err == nil && done {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		// Both may be there at once, and then select takes either: without this line, a check that used up the limit
		// would at times be asked once more.
		if ctx.Err() != nil {
			return fmt.Errorf("waited %s for %s: %s: %w",
				time.Since(began).Round(100*time.Millisecond), what, last, context.Cause(ctx))
		}
	}
}

// Pass waits until the time has passed. It is for a span that is itself what is wanted, such as a minute of steady
// load; to wait for something, use Until.
func Pass(ctx context.Context, span time.Duration) error {
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// sight is what the checks saw so far.
type sight struct {
	saw    string
	err    error
	checks int
}

// note keeps the last thing seen, and the last error: an error caused by our own limit hides neither.
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
