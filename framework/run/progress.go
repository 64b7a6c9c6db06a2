package run

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Progress shows what happens now: a line that is updated on a terminal, and plain lines elsewhere.
type Progress struct {
	out   io.Writer
	moves bool // out is a terminal
	total int  // scenarios to run; 0: unknown

	mu     sync.Mutex
	done   int
	spec   scenario.Spec
	began  time.Time
	since  time.Time // the present step began
	phase  history.PhaseName
	doing  string
	load   func() (sent, failed uint64)
	bar    *progressbar.ProgressBar
	cancel chan struct{}
	over   sync.WaitGroup
}

// NewProgress writes to out. Total is how many scenarios there will be.
func NewProgress(out io.Writer, total int) *Progress {
	file, isFile := out.(*os.File)
	return &Progress{out: out, total: total, moves: isFile && term.IsTerminal(int(file.Fd()))}
}

// begin announces a scenario.
func (p *Progress) begin(s scenario.Spec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.spec, p.began, p.phase, p.doing, p.load = s, time.Now(), "", "", nil
	p.line("[%d/%d] %s: %s (about %s)", p.done, p.total, s.Name, s.Claim, s.About)
	p.since = p.began
	if p.moves {
		p.bar = progressbar.NewOptions64(int64(p.spec.About/time.Second),
			progressbar.OptionSetWriter(p.out), progressbar.OptionSetWidth(20), progressbar.OptionClearOnFinish(),
			progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false))
		p.every(time.Second, p.redraw)
	} else {
		p.every(aliveEvery, p.remind)
	}
}

// more announces a scenario that was not among the total.
func (p *Progress) more() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
}

// now changes what is being done. Without a terminal each call is a line.
func (p *Progress) now(phase history.PhaseName, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.phase, p.doing, p.since = phase, doing, time.Now()
	if !p.moves {
		p.line("  %s", p.status())
	}
}

// Say shows a step outside of a scenario's phases, such as a step of creating a cluster. Before the first scenario it is a line of its own.
func (p *Progress) Say(doing string) {
	if p.before() {
		p.Note("  " + doing)
		return
	}
	p.now(history.Provision, doing)
}

// before reports whether no scenario has begun.
func (p *Progress) before() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.began.IsZero()
}

// Note writes a line of its own.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
	p.line("%s", text)
}

// loading sets the source of the load's counts; nil: no load flows.
func (p *Progress) loading(load func() (sent, failed uint64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.load = load
}

// end shows the result of the scenario.
func (p *Progress) end(s scenario.Spec, r result, took time.Duration) {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line("  %s in %s: %s", verdictWord(s, r), took.Round(time.Second), r.summary())
	for _, remedy := range r.remedies {
		p.line("  remedy: %s", remedy)
	}
}

func (r result) summary() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.why
}

// verdictWord is what a person reads first.
func verdictWord(s scenario.Spec, r result) string {
	if r.err != nil {
		return "FAILED"
	}
	if r.unsupported {
		return "NOT SUPPORTED"
	}
	if r.interrupted {
		return "INTERRUPTED"
	}
	mutant := map[verdict.Outcome]string{verdict.Held: "CAUGHT", verdict.Violated: "MISSED", verdict.Unknown: "UNKNOWN"}
	plain := map[verdict.Outcome]string{verdict.Held: "HELD", verdict.Violated: "VIOLATED", verdict.Unknown: "UNKNOWN"}
	if r.escaped {
		return "NOT CAUGHT"
	}
	if s.Mutant != nil {
		return mutant[r.outcome]
	}
	return plain[r.outcome]
}

// status is the present state in words: "disturbed 12s: drain 1 worker; 2400 requests, 0 failed".
func (p *Progress) status() string {
	text := fmt.Sprintf("%s %s", p.phase, time.Since(p.began).Round(time.Second))
	if p.doing != "" {
		text += ": " + p.doing
	}
	if p.load != nil {
		sent, failed := p.load()
		text += fmt.Sprintf("; %d requests, %d failed", sent, failed)
	}
	return text
}

func (p *Progress) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
}

// aliveEvery is how often a step that lasts is reported without a terminal.
const aliveEvery = 30 * time.Second

// every calls a function again and again until stop.
func (p *Progress) every(interval time.Duration, do func()) {
	cancelled := make(chan struct{})
	p.cancel = cancelled
	p.over.Go(func() {
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

// remind says what has been going on for a while. The scenario's expected time is beside it.
func (p *Progress) remind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lasts := time.Since(p.since).Round(time.Second); lasts >= aliveEvery {
		p.line("  %s; for %s now, and the scenario takes about %s", p.status(), lasts, p.spec.About)
	}
}

// redraw shows the part of the expected time that has passed, and the status.
func (p *Progress) redraw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bar.Describe("  " + p.status())
	// The bar never becomes full, because a full bar looks finished.
	_ = p.bar.Set64(min(int64(time.Since(p.began)/time.Second), p.bar.GetMax64()-1))
}

func (p *Progress) stop() {
	p.mu.Lock()
	cancel := p.cancel
	p.cancel = nil
	p.mu.Unlock()
	if cancel == nil {
		return
	}
	close(cancel)
	p.over.Wait()
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
