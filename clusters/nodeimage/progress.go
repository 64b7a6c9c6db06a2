package nodeimage

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// State is the state of a step.
type State string

// The states. A Going step is reported once a second.
const (
	Started State = "started"
	Going   State = "going"
	Cached  State = "cached"
	Done    State = "done"
	Failed  State = "failed"
)

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

// do runs one part. It reports the part every second while it runs, so that a long compilation does not look like a hang.
func (s *steps) do(ctx context.Context, name string, part func(ctx context.Context) (cached bool, err error)) error {
	s.mu.Lock()
	s.next++
	step := Step{Number: s.next, Of: s.of, Name: name, State: Started}
	s.tell(step)
	s.mu.Unlock()

	begun := time.Now()
	report := func(state State) {
		s.mu.Lock()
		defer s.mu.Unlock()
		step.State, step.Elapsed = state, time.Since(begun)
		s.tell(step)
	}
	over, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				report(Going)
			}
		}
	}()
	cached, err := part(ctx)
	close(over)
	<-stopped
	switch {
	case err != nil:
		report(Failed)
		return fmt.Errorf("%s: %w", name, err)
	case cached:
		report(Cached)
	default:
		report(Done)
	}
	return nil
}

// aliveEvery is how often a plain log reports that a step is still running.
const aliveEvery = 30 * time.Second

// ProgressTo reports steps to w, as Lines does.
func ProgressTo(w io.Writer) func(Step) {
	if file, is := output.Raw(w).(*os.File); is && term.IsTerminal(int(file.Fd())) {
		return Lines(file, true)
	}
	return Lines(w, false)
}

// Lines reports steps to w. On a terminal the running step is one line that is overwritten; otherwise each step prints a
// line at its start, one at its end, and one every 30 seconds in between.
func Lines(w io.Writer, terminal bool) func(Step) {
	said := map[int]time.Duration{}
	return func(s Step) {
		head := s.Name
		if s.Of > 0 {
			head = fmt.Sprintf("[%*d/%d] %s", len(fmt.Sprint(s.Of)), s.Number, s.Of, s.Name)
		}
		elapsed := s.Elapsed.Round(time.Second)
		clear := ""
		if terminal {
			clear = "\r\x1b[K"
		}
		var line string
		switch {
		case s.State == Started && terminal:
			line = head + " ..."
		case s.State == Started:
			line = head + "\n"
		case s.State == Going && terminal:
			line = fmt.Sprintf("%s ... %s", head, elapsed)
		case s.State == Going && s.Elapsed-said[s.Number] < aliveEvery:
			return
		case s.State == Going:
			said[s.Number] = s.Elapsed
			line = fmt.Sprintf("%s: still running, %s\n", head, elapsed)
		case s.State == Cached:
			line = head + ": from the cache\n"
		default:
			line = fmt.Sprintf("%s: %s in %s\n", head, s.State, elapsed)
		}
		_, _ = io.WriteString(w, clear+line) // an error of w must not stop the build
	}
}
