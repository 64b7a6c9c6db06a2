package nodeimage

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// State is the state of a step.
type State string

// The states. A Going step is reported every 30 seconds, so that a long compilation does not look like a hang.
const (
	Started State = "started"
	Going   State = "still running"
	Cached  State = "from the cache"
	Done    State = "done"
	Failed  State = "failed"
)

const goingEvery = 30 * time.Second

// Step is a part of a build. Two steps may run at the same time.
type Step struct {
	Number, Of int // from 1; both are 0 while this build waits for another one
	Name       string
	State      State
	Elapsed    time.Duration // since the step began
}

// steps numbers the parts of a build and reports on them.
type steps struct {
	of   int
	tell func(Step)

	mu   sync.Mutex
	next int
}

// do runs one part.
func (s *steps) do(ctx context.Context, name string, part func(ctx context.Context) (cached bool, err error)) error {
	begun := time.Now()
	step := Step{Of: s.of, Name: name}
	report := func(state State) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if state == Started {
			s.next++
			step.Number = s.next
		}
		step.State, step.Elapsed = state, time.Since(begun)
		s.tell(step)
	}
	report(Started)
	type result struct {
		cached bool
		err    error
	}
	over := make(chan result, 1)
	go func() {
		cached, err := part(ctx)
		over <- result{cached, err}
	}()
	tick := time.NewTicker(goingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			report(Going)
		case r := <-over:
			switch {
			case r.err != nil:
				report(Failed)
				return fmt.Errorf("%s: %w", name, r.err)
			case r.cached:
				report(Cached)
			default:
				report(Done)
			}
			return nil
		}
	}
}

// ProgressTo reports steps to w, with a line for each state.
func ProgressTo(w io.Writer) func(Step) {
	return func(s Step) {
		line := s.Name
		if s.Of > 0 {
			line = fmt.Sprintf("[%*d/%d] %s", len(fmt.Sprint(s.Of)), s.Number, s.Of, s.Name)
		}
		switch s.State {
		case Started:
		case Cached:
			line += ": " + string(s.State)
		default:
			line += fmt.Sprintf(": %s, %s", s.State, s.Elapsed.Round(time.Second))
		}
		_, _ = io.WriteString(w, line+"\n") // an error of w must not stop the build
	}
}
