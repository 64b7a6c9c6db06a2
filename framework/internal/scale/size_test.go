package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// A cluster that cannot be made is no measurement.
func TestASizeThatFailsIsNotMeasured(t *testing.T) {
	for name, test := range map[string]struct {
		script, want string
		args         []string
	}{
		"no cluster": {"exit 3", "bin/holdfast up: exit status 3", []string{"50", "1000"}},
		"no numbers": {"exit 0", "want the numbers of nodes and pods", []string{"50"}},
		"no number":  {"touch called", `"many" pods: want a whole number from 1 on`, []string{"50", "many"}},
		"no nodes":   {"touch called", `"0" nodes: want a whole number from 1 on`, []string{"0", "1000"}},
		"fewer":      {"touch called", `"-5" pods: want a whole number from 1 on`, []string{"--", "50", "-5"}},
	} {
		t.Run(name, func(t *testing.T) {
			temporary := besideHarness(t, test.script)
			errtest.Check(t, size(t.Context(), append([]string{"--file", "m.jsonl"}, test.args...), &strings.Builder{}), test.want)
			if _, err := os.Stat("m.jsonl"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a measurement was kept: %v", err)
			}
			if _, err := os.Stat("called"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the harness was called: %v", err)
			}
			isEmpty(t, temporary)
		})
	}
}

// A record that is judged in another way than the run is an error, and one that cannot be judged is another.
func TestARecordThatIsJudgedInAnotherWay(t *testing.T) {
	for script, want := range map[string]string{
		"exit 1": "the run was held, and its record is judged violated",
		"exit 3": "bin/holdfast judge: exit status 3",
	} {
		besideHarness(t, script)
		m := scaling.Measurement{Outcome: "held"}
		err := ofRecord(t.Context(), &m, ".")
		errtest.Check(t, err, want)
		if strings.Contains(want, "status") && strings.Contains(err.Error(), "is judged") {
			t.Errorf("nothing was judged, and the error is %v", err)
		}
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
