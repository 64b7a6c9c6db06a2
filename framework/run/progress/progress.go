// Package progress shows a user what a run does now, scenario by scenario.
//
// It decides nothing: it is told what happens, and what came of it.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Progress shows what happens now: a line that is updated on a terminal, and plain lines elsewhere.
type Progress struct {
	out   io.Writer
	moves bool // out is a terminal
	total int  // scenarios to run; 0: unknown

	mu    sync.Mutex // of all that is written, and of the scenarios' own progress
	done  int
	shown *Scenario // began last; nil: none has
}

// New writes to out. Total is how many scenarios there will be.
func New(out io.Writer, total int) *Progress {
	file, isFile := output.Raw(out).(*os.File)
	return &Progress{out: out, total: total, moves: isFile && term.IsTerminal(int(file.Fd()))}
}

// More announces a scenario that was not among the total.
func (p *Progress) More() {
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
	shown.Now(history.Provision, doing)
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
