package run

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// Progress shows what happens now: a line that is updated on a terminal, and plain lines elsewhere, as for scenarios that run at the same time.
type Progress struct {
	out   io.Writer
	moves bool // out is a terminal
	total int  // scenarios to run; 0: unknown

	mu    sync.Mutex // of all that is written, and of the scenarios' own progress
	done  int
	shown *scenarioProgress // began last; nil: none has
}

// NewProgress writes to out. Total is how many scenarios there will be.
func NewProgress(out io.Writer, total int) *Progress {
	file, isFile := out.(*os.File)
	return &Progress{out: out, total: total, moves: isFile && term.IsTerminal(int(file.Fd()))}
}

// more announces a scenario that was not among the total.
func (p *Progress) more() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.total++
}

// Say shows a step outside of a scenario's phases, such as a step of creating a cluster. Before the first scenario it is a line of its own.
func (p *Progress) Say(doing string) {
	p.mu.Lock()
	shown := p.shown
	p.mu.Unlock()
	if shown == nil {
		p.Note("  " + doing)
		return
	}
	shown.now(history.Provision, doing)
}

// Note writes a line of its own.
func (p *Progress) Note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown != nil && p.shown.bar != nil {
		_ = p.shown.bar.Clear()
	}
	p.line("%s", text)
}

func (p *Progress) line(format string, args ...any) {
	_, _ = fmt.Fprintf(p.out, format+"\n", args...)
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
