// Package interrupt runs a command that signals may interrupt. It distinguishes a new signal from an echo of the first, and
// keeps a list of everything the command has created or disturbed. On the signal and at the end it reports for each entry
// whether the entry is undone or left.
//
// The package undoes nothing itself: the command does, when its context ends.
package interrupt

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Echo is the time after the first signal during which further signals count as the same request: `timeout` signals a process
// and then its process group, and a terminal sends SIGINT to the whole foreground group.
const Echo = time.Second

// Signal is the cause of a context that was cancelled by a signal.
type Signal struct{ By syscall.Signal }

func (s Signal) Error() string { return "interrupted by " + unix.SignalName(s.By) }

// Process is an interruptible process. The methods of a nil Process do nothing.
type Process struct {
	mu      sync.Mutex
	say     func(string)
	pending []*Pending // in the order of Add
	by      *Signal    // nil while not interrupted
	ended   chan struct{}
}

// Pending is something that the process has created or disturbed, and will undo before it ends.
type Pending struct {
	Undo string // the action, in the imperative: "remove namespace x"
	Done string // the result: "namespace x is removed"
	Left string // what the user must do if it was not done: "cluster x is left: holdfast down x"; empty: another entry covers it
}

type key struct{}

// Of is the Process that Main attached to the context. It is nil if there is none.
func Of(ctx context.Context) *Process {
	p, _ := ctx.Value(key{}).(*Process)
	return p
}

// SayTo redirects the messages, which are one line each.
func (p *Process) SayTo(say func(string)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say = say
}

// Add registers something to undo. Call done once it is undone.
func (p *Process) Add(what Pending) (done func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = append(p.pending, &what)
	return func() { p.remove(&what) }
}

func (p *Process) remove(what *Pending) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.pending {
		if other == what {
			p.pending = append(p.pending[:i:i], p.pending[i+1:]...)
			if p.by != nil {
				p.say("  " + what.Done)
			}
			return
		}
	}
}

// Interrupted is closed by the first signal. Cause is then that signal.
func (p *Process) Interrupted() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.ended
}

// Cause is the Signal that interrupted the process. It is nil if there was none.
func (p *Process) Cause() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.by == nil {
		return nil
	}
	return *p.by
}

// Main runs a command until it returns. SIGINT, SIGTERM and SIGHUP cancel its context. A second signal that is not an echo
// makes Main return at once. In every case, also when the command panics, Main reports what is left.
func Main(parent context.Context, out io.Writer, command func(context.Context) error) error {
	signals := make(chan os.Signal, 8)
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // SIGHUP is ignored under nohup
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(signals, wanted...)
	defer signal.Stop(signals)
	// Without this, a write to a closed standard output or standard error would kill the process by SIGPIPE, and leave
	// everything it created. With it, the write returns an error instead. Nothing reads the channel.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	return run(parent, signals, out, command)
}

func run(parent context.Context, signals <-chan os.Signal, out io.Writer, command func(context.Context) error) error {
	p := &Process{ended: make(chan struct{}), say: func(line string) { _, _ = fmt.Fprintln(out, line) }}
	ctx, cancel := context.WithCancelCause(context.WithValue(parent, key{}, p))
	defer cancel(nil)
	result := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				p.tellLeft()
				panic(r)
			}
		}()
		result <- command(ctx)
	}()
	var first time.Time
	for {
		select {
		case err := <-result:
			p.tellLeft()
			return err
		case s := <-signals:
			by := Signal{s.(syscall.Signal)}
			switch {
			case first.IsZero():
				first = time.Now()
				p.interrupt(by)
				cancel(by)
			case time.Since(first) >= Echo:
				p.tellLeft()
				return fmt.Errorf("%w, a second signal: exited before everything was undone", by)
			}
		}
	}
}

// interrupt reports what will be undone now, in which order.
func (p *Process) interrupt(by Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by = &by
	line := by.Error()
	if undo := p.undo(); len(undo) > 0 {
		line += "; now, in this order: " + strings.Join(undo, ", ") + " (a second signal after at least one second skips this)"
	}
	p.say(line)
	close(p.ended)
}

// undo lists the pending actions, the newest first. The caller holds the lock.
func (p *Process) undo() (all []string) {
	for i := len(p.pending) - 1; i >= 0; i-- {
		all = append(all, p.pending[i].Undo)
	}
	return all
}

// tellLeft reports what is not undone, and what to do about it.
func (p *Process) tellLeft() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pending) == 0 {
		if p.by != nil {
			p.say("nothing is left")
		}
		return
	}
	p.say("not done: " + strings.Join(p.undo(), ", "))
	for _, what := range p.pending {
		if what.Left != "" {
			p.say(what.Left)
		}
	}
}
