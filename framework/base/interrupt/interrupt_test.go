package interrupt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// command creates a cluster and disturbs it. When interrupted it undoes both, which takes a minute each.
func command(ctx context.Context) error {
	p := Of(ctx)
	removed := p.Add(Pending{Undo: "remove cluster x", Done: "cluster x is removed", Left: "cluster x is left: holdfast down x"})
	undone := p.Add(Pending{Undo: "undo kill one worker", Done: "kill one worker is undone"})
	<-ctx.Done()
	time.Sleep(time.Minute)
	undone()
	time.Sleep(time.Minute)
	removed()
	return context.Cause(ctx)
}

// sent is a signal that arrives some time after the previous signal.
type sent struct {
	after time.Duration
	by    syscall.Signal
}

const announced = "; now, in this order: undo kill one worker, remove cluster x (a second signal after at least one second skips this)\n"

// Regression: two SIGTERMs 20 ms apart, which `timeout` sends to a process and to its process group, left a cluster of eight
// nodes behind without a message.
func TestSignals(t *testing.T) {
	const clean = announced + "  kill one worker is undone\n  cluster x is removed\nnothing is left\n"
	const left = "cluster x is left: holdfast down x\n"
	for name, test := range map[string]struct {
		signals []sent
		said    string
		took    time.Duration // from the first signal
		err     string
	}{
		"once":        {[]sent{{0, syscall.SIGINT}}, "interrupted by SIGINT" + clean, 2 * time.Minute, "interrupted by SIGINT"},
		"an echo":     {[]sent{{0, syscall.SIGTERM}, {20 * time.Millisecond, syscall.SIGTERM}}, "interrupted by SIGTERM" + clean, 2 * time.Minute, "interrupted by SIGTERM"},
		"many echoes": {[]sent{{0, syscall.SIGTERM}, {0, syscall.SIGINT}, {999 * time.Millisecond, syscall.SIGHUP}}, "interrupted by SIGTERM" + clean, 2 * time.Minute, "interrupted by SIGTERM"},
		"a hangup":    {[]sent{{0, syscall.SIGHUP}}, "interrupted by SIGHUP" + clean, 2 * time.Minute, "interrupted by SIGHUP"},
		"a second later": {
			[]sent{{0, syscall.SIGINT}, {Echo, syscall.SIGINT}},
			"interrupted by SIGINT" + announced + "not done: undo kill one worker, remove cluster x\n" + left, Echo,
			"interrupted by SIGINT, a second signal: exited before everything was undone",
		},
		"a minute and a half later": {
			[]sent{{0, syscall.SIGINT}, {90 * time.Second, syscall.SIGTERM}},
			"interrupted by SIGINT" + announced + "  kill one worker is undone\nnot done: remove cluster x\n" + left, 90 * time.Second,
			"interrupted by SIGTERM, a second signal: exited before everything was undone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				signals, out := make(chan os.Signal), lines{}
				var first time.Time
				go func() {
					time.Sleep(time.Hour)
					first = time.Now()
					for _, s := range test.signals {
						time.Sleep(s.after)
						signals <- s.by
					}
				}()
				err := run(t.Context(), signals, &out, command)
				if err == nil || err.Error() != test.err || time.Since(first) != test.took {
					t.Errorf("after %s: %v; want after %s: %s", time.Since(first), err, test.took, test.err)
				}
				if out.String() != test.said {
					t.Errorf("said\n%s\nwant\n%s", out.String(), test.said)
				}
				if by := (Signal{}); !errors.As(err, &by) {
					t.Error("the signal is not in the error")
				}
				time.Sleep(time.Hour) // let the command, which Main did not wait for, finish inside the bubble
			})
		})
	}
}

// lines is a buffer that several goroutines may use.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

// A command that ends on its own prints nothing, unless something is left.
func TestWithoutASignal(t *testing.T) {
	failed := errors.New("no engine")
	for name, test := range map[string]struct {
		do   func(p *Process)
		said string
	}{
		"all is undone": {func(p *Process) { p.Add(Pending{Undo: "remove cluster x"})() }, ""},
		"twice":         {func(p *Process) { done := p.Add(Pending{Undo: "remove cluster x"}); done(); done() }, ""},
		"something is left": {func(p *Process) { p.Add(Pending{Undo: "remove cluster x", Left: "cluster x is left: holdfast down x"}) },
			"not done: remove cluster x\ncluster x is left: holdfast down x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out lines
			err := run(t.Context(), nil, &out, func(ctx context.Context) error {
				test.do(Of(ctx))
				return failed
			})
			if err != failed || out.String() != test.said { //nolint:errorlint // it is handed on as it is
				t.Errorf("%v; said\n%s\nwant\n%s", err, out.String(), test.said)
			}
		})
	}
}

// A broken connection or pipe is an error of the write, and interrupts nothing. Regression: a run was ended because a command
// of its engine had stopped reading.
func TestABrokenPipeInterruptsNothing(t *testing.T) {
	var out lines
	err := Main(t.Context(), &out, func(ctx context.Context) error {
		read, write, err := os.Pipe()
		if err != nil {
			return err
		}
		if err := read.Close(); err != nil {
			return err
		}
		_, err = write.Write([]byte("x"))
		if !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the write: %v", err)
		}
		heard := make(chan os.Signal, 2)
		signal.Notify(heard, syscall.SIGPIPE)
		defer signal.Stop(heard)
		if err := syscall.Kill(os.Getpid(), syscall.SIGPIPE); err != nil { // as the kernel does on a write to a broken standard output
			return err
		}
		<-heard
		removed := Of(ctx).Add(Pending{Undo: "remove cluster x"})
		defer removed()
		return context.Cause(ctx)
	})
	if err != nil || out.String() != "" {
		t.Errorf("%v: %s", err, out.String())
	}
}

// Every method works without a Process.
func TestNoProcess(t *testing.T) {
	p := Of(t.Context())
	p.SayTo(nil)
	p.Add(Pending{})()
	if p != nil || p.Interrupted() != nil || p.Cause() != nil {
		t.Errorf("%v", p)
	}
}
