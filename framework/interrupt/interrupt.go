// Package interrupt runs a command that signals may end. It tells a signal from its echo, keeps a list of what the command has
// made or disturbed, and says of each thing, at the moment of the signal and at the end, whether it is undone or left.
//
// It undoes nothing itself: the command does, when its context ends.
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

// Echo is how soon after the first signal another one is the same request: `timeout` sends SIGTERM to a process and to its group,
// and a terminal sends SIGINT to everybody.
const Echo = time.Second

// Signal is why a context ended: a signal asked for it.
type Signal struct{ By syscall.Signal }

func (s Signal) Error() string { return "interrupted by " + unix.SignalName(s.By) }

// Process is the process that may be interrupted. A nil Process is one that cannot be: its methods do nothing.
type Process struct {
	mu      sync.Mutex
	say     func(string)
	pending []*Pending // the last comes last
	by      *Signal    // nil: it is not interrupted
	ended   chan struct{}
}

// Pending is something that the process has made or disturbed, and will undo before it ends.
type Pending struct {
	Undo string // what will be done: "remove namespace x"
	Done string // that it was done: "namespace x is removed"
	Left string // what to do if it was not: "cluster x is left: holdfast down x"; empty: another one's says it
}

type key struct{}

// Of is the process that a context was made for; nil: none.
func Of(ctx context.Context) *Process {
	p, _ := ctx.Value(key{}).(*Process)
	return p
}

// SayTo changes where is said what is undone: a line each.
func (p *Process) SayTo(say func(string)) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.say = say
}

// Add something that is to be undone. Done is called once it was.
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

// Interrupted is closed by the first signal, whose Cause then is.
func (p *Process) Interrupted() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.ended
}

// Cause is the signal that interrupted the process; nil: none did.
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

// Main runs a command until it returns. SIGINT, SIGTERM and SIGHUP end its context; once more, but no echo, and Main returns at
// once. In every case it names what is left then. A panic of the command names it too.
func Main(parent context.Context, out io.Writer, command func(context.Context) error) error {
	signals := make(chan os.Signal, 8)
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(signals, wanted...)
	defer signal.Stop(signals)
	// Without this, a line that nobody reads any more would end the process at once, with all that it has made. Nobody listens: every
	// broken connection is a SIGPIPE then, and an error of the write, which is what counts.
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
				return fmt.Errorf("%w once more, and ended before all was undone", by)
			}
		}
	}
}

// interrupt says what will be undone now, in which order.
func (p *Process) interrupt(by Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.by = &by
	line := by.Error()
	if undo := p.undo(); len(undo) > 0 {
		line += "; now, in this order: " + strings.Join(undo, ", ") + " (a second signal, but not within a second, leaves them)"
	}
	p.say(line)
	close(p.ended)
}

// undo lists what is to be done, the last thing first. The caller holds the lock.
func (p *Process) undo() (all []string) {
	for i := len(p.pending) - 1; i >= 0; i-- {
		all = append(all, p.pending[i].Undo)
	}
	return all
}

// tellLeft names what is not undone, and what to do about it.
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
