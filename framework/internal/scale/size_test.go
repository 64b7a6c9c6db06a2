package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/internal/errtest"
)

// A cluster that cannot be made is no measurement.
func TestASizeThatFailsIsNotMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		script, want string
		args         []string
	}{
		"no cluster": {"exit 3", "bin/holdfast up: exit status 3", []string{"50", "1000"}},
		"no numbers": {"exit 0", "want the numbers of nodes and pods", []string{"50"}},
		"no number":  {"exit 0", `"many": invalid syntax`, []string{"50", "many"}},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := besideHarness(t, test.script)
			errtest.Check(t, size(t.Context(), append([]string{"--file", "m.jsonl"}, test.args...), &strings.Builder{}), test.want)
			if _, err := os.Stat("m.jsonl"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a measurement was kept: %v", err)
			}
			isEmpty(t, temporary)
		})
	}
}

// An interrupt reaches the harness as Ctrl-C does, so that it can undo what it did.
func TestAnInterruptLetsTheHarnessUndo(t *testing.T) {
	besideHarness(t, `trap 'kill $!; echo > undone; exit 3' INT; sleep 600 & echo > begun; wait`)
	errtest.Check(t, syscall.Mkfifo("begun", 0o600), "")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		_, _ = os.ReadFile("begun") // which ends when the harness has begun
		interrupt()
	}()
	if _, err := child(ctx, "run"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat("undone"); err != nil {
		t.Errorf("the harness has not undone anything: %v", err)
	}
}
