package progress

import (
	"fmt"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Scenario shows what happens in one scenario.
type Scenario struct {
	p      *Progress
	spec   scenario.Spec
	began  time.Time
	since  time.Time // the present step began
	said   time.Time // a line about it was last written
	what   string    // is awaited; empty: nothing is
	saw    string    // what was last seen of it
	phase  history.PhaseName
	doing  string
	load   func() (sent, failed uint64)
	bar    *progressbar.ProgressBar // on a terminal
	cancel chan struct{}
	over   sync.WaitGroup
}

// Begin announces a scenario.
func (p *Progress) Begin(spec scenario.Spec) *Scenario {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s := &Scenario{p: p, spec: spec, began: now, since: now, said: now}
	p.done++
	p.shown = s
	p.line("[%d/%d] %s: %s (about %s)", p.done, p.total, spec.Name, spec.Claim, spec.About)
	if p.moves {
		s.bar = progressbar.NewOptions64(int64(spec.About/time.Second),
			progressbar.OptionSetWriter(output.Raw(p.out)), progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false))
		s.every(time.Second, s.redraw)
	} else {
		s.every(aliveEvery, s.remind)
	}
	return s
}

// Now changes what is being done. Without a bar each call is a line.
func (s *Scenario) Now(phase history.PhaseName, doing string) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.phase, s.doing, s.since = phase, doing, time.Now()
	s.said = s.since
	if s.bar == nil {
		s.line("%s", s.status())
	}
}

// Awaits is a poll.Listener. Of several waits it keeps the one of which it heard last.
func (s *Scenario) Awaits(what, saw string, over bool) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if !over {
		s.what, s.saw = what, saw
	} else if s.what == what {
		s.what, s.saw = "", ""
	}
}

// awaited is what is waited for, in words, to be added to the status.
func (s *Scenario) awaited() string {
	switch {
	case s.what == "":
		return ""
	case s.saw == "":
		return "; waiting for " + s.what
	}
	return "; waiting for " + s.what + ": " + s.saw
}

// Note writes a line about the scenario.
func (s *Scenario) Note(text string) { s.p.Note("  " + text) }

// line writes a line about the scenario. The caller has locked the Progress.
func (s *Scenario) line(format string, args ...any) {
	s.p.line("  "+format, args...)
}

// Loading sets the source of the load's counts; nil: no load flows.
func (s *Scenario) Loading(load func() (sent, failed uint64)) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.load = load
}

// End shows the result of the scenario: a word, such as HELD, why, and further lines.
func (s *Scenario) End(word, why string, took time.Duration, further ...string) {
	s.stop()
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.line("%s in %s: %s", word, took.Round(time.Second), why)
	for _, line := range further {
		s.line("%s", line)
	}
}

// status is the present state in words: "disturbed 12s: drain 1 worker; 2400 requests, 0 failed".
func (s *Scenario) status() string {
	text := fmt.Sprintf("%s %s", s.phase, time.Since(s.began).Round(time.Second))
	if s.doing != "" {
		text += ": " + s.doing
	}
	if s.load != nil {
		sent, failed := s.load()
		text += fmt.Sprintf("; %d requests, %d failed", sent, failed)
	}
	return text
}

// aliveEvery is how often a step that lasts is reported without a terminal.
const aliveEvery = 30 * time.Second

// every calls a function again and again until stop.
func (s *Scenario) every(interval time.Duration, do func()) {
	cancelled := make(chan struct{})
	s.cancel = cancelled
	s.over.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-cancelled:
				return
			case <-tick.C:
				do()
			}
		}
	})
}

// remind says what has been going on for a while, and what is awaited. The scenario's expected time is beside it.
func (s *Scenario) remind() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if lasts := time.Since(s.since).Round(time.Second); lasts >= aliveEvery {
		s.line("%s%s; for %s now, and the scenario takes about %s", s.status(), s.awaited(), lasts, s.spec.About)
	}
}

// redraw shows the part of the expected time that has passed, and the status. What is awaited for long gets a line of its own, because
// it is too long to stand beside the bar.
func (s *Scenario) redraw() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if awaited := s.awaited(); awaited != "" && time.Since(s.said) >= aliveEvery {
		s.said = time.Now()
		_ = s.bar.Clear()
		s.line("%s%s", s.status(), awaited)
	}
	s.bar.Describe("  " + s.status())
	// The bar never becomes full, because a full bar looks finished.
	_ = s.bar.Set64(min(int64(time.Since(s.began)/time.Second), s.bar.GetMax64()-1))
}

func (s *Scenario) stop() {
	s.p.mu.Lock()
	cancel := s.cancel
	s.cancel = nil
	s.p.mu.Unlock()
	if cancel == nil {
		return
	}
	close(cancel)
	s.over.Wait()
	if s.bar != nil {
		_ = s.bar.Clear()
	}
}
