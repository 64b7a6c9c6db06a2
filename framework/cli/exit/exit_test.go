package exit_test

import (
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// A report, a certificate or a run.json that cannot be written hides no broken promise, and makes nothing of a promise that held.
func TestWhatCannotBeWrittenHidesNothing(t *testing.T) {
	full := errors.New("no space left on device")
	for name, test := range map[string]struct {
		outcome error
		failed  []error
		want    int
	}{
		"held":                           {exit.Judged(verdict.Held), nil, exit.Held},
		"violated":                       {exit.Judged(verdict.Violated), nil, exit.Violated},
		"unknown":                        {exit.Judged(verdict.Unknown), nil, exit.Unknown},
		"held, and not written":          {exit.Judged(verdict.Held), []error{nil, full}, exit.Failed},
		"violated, and not written":      {exit.Judged(verdict.Violated), []error{full}, exit.Violated},
		"not certified, and not written": {exit.With(exit.Violated, errors.New("not certified")), []error{full, full}, exit.Violated},
		"unknown, and not written":       {exit.Judged(verdict.Unknown), []error{full}, exit.Failed},
		"left out for want of time":      {exit.CutShort("--time-budget 40m0s", 0, 3), nil, exit.Unknown},
		"interrupted, and not written":   {exit.CutShort("interrupt", 1, 0), []error{full}, exit.Failed},
	} {
		err := exit.Besides(test.outcome, test.failed...)
		if code := exit.Code(err); code != test.want {
			t.Errorf("%s: exit code %d, %v; want %d", name, code, err, test.want)
		}
		if len(test.failed) > 0 && !errors.Is(err, full) {
			t.Errorf("%s: %v does not say what could not be written", name, err)
		}
	}
}
