package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// run.json is whole after each scenario, whatever became of it.
func TestKeep(t *testing.T) {
	c := newFixture(t)
	held := verdict.Verdict{Kind: "Spread", Promise: "even", Outcome: verdict.Held, Seen: "even"}
	odd := held
	odd.Numbers = map[string]float64{"skew": math.NaN()}
	first, second, third := quiet(), quiet(), quiet()
	first.Name, second.Name, third.Name = "chaos/first", "chaos/second", "chaos/third"

	a := &attempt{runner: c.runner, kubernetes: "v1.37.0"}
	if got := a.keep(first, judge.Found{Verdicts: []verdict.Verdict{held}}, nil); got.outcome != verdict.Held || got.err != nil {
		t.Errorf("held: %+v", got)
	}
	if diff := cmp.Diff([]string{"chaos/first held"}, outcomes(c.kept())); diff != "" {
		t.Errorf("after the first (-want +got):\n%s", diff)
	}
	// A verdict that cannot be written down is none.
	got := a.keep(second, judge.Found{Verdicts: []verdict.Verdict{held, odd}}, nil)
	errtest.Check(t, got.err, `write down the verdict on "even": json: unsupported value: NaN`)
	a.keep(third, judge.Found{Verdicts: []verdict.Verdict{held}}, errors.New("no engine"))
	want := []string{"chaos/first held", "chaos/second " + got.err.Error(), "chaos/third no engine"}
	if diff := cmp.Diff(want, outcomes(c.kept())); diff != "" {
		t.Errorf("after the third (-want +got):\n%s", diff)
	}
	for _, s := range c.kept().Scenarios {
		if s.Reproduce != "again "+s.Name+" v1.37.0" || s.Error != "" && len(s.Verdicts) > 0 {
			t.Errorf("kept: %+v", s)
		}
	}
}

// What cannot be tried here is named, and counts as nothing: no outcome, no error, and no other run's exit code.
func TestWhatIsNotSupportedIsKeptByName(t *testing.T) {
	c := newFixture(t)
	s := quiet()
	got := (&attempt{runner: c.runner}).keepUnsupported(s, "tc netem is not supported here")
	kept := c.kept().Scenarios[0]
	if got.err != nil || !got.unsupported || verdictWord(s, got) != "NOT SUPPORTED" || got.summary() != "tc netem is not supported here" ||
		kept.NotSupported != "tc netem is not supported here" || kept.Name != s.Name || kept.Outcome+kept.Error != "" || len(kept.Verdicts) != 0 {
		t.Errorf("got %+v, kept %+v", got, kept)
	}
	if o := judge.Sum(c.kept().Scenarios, nil); o != judge.RunUnknown {
		t.Errorf("a run of no other scenario is %s", o)
	}
	(&attempt{runner: c.runner}).keep(s, judge.Found{Verdicts: []verdict.Verdict{{Kind: "Spread", Outcome: verdict.Held}}}, nil)
	if o := judge.Sum(c.kept().Scenarios, nil); o != judge.RunHeld {
		t.Errorf("a run of one that held is %s", o)
	}
}

// A fault says so, and the record keeps it: it can be told again from there alone.
func TestAFaultThatIsNotSupportedIsInTheRecord(t *testing.T) {
	events, verdicts, err := playOn(t, unsupportedFault{}, fault.Target{})
	if err == nil || !slices.ContainsFunc(events, func(e history.Event) bool {
		return e.Fault != nil && e.Fault.NotSupported == "tc netem is not supported here: no such qdisc"
	}) {
		t.Errorf("%v, in the record: %+v", err, events)
	}
	for _, v := range verdicts {
		if v.Outcome != verdict.Unknown {
			t.Errorf("%s is %s", v.Kind, v.Outcome)
		}
	}
}

type unsupportedFault struct{}

func (unsupportedFault) String() string { return "latency" }
func (unsupportedFault) Plan(context.Context, fault.Target) (fault.Disruption, error) {
	return nil, fmt.Errorf("latency: %w", &fault.NotSupported{What: "tc netem", Why: "no such qdisc"})
}

// A result that cannot be kept did not hold, as far as anybody can tell later.
func TestAResultThatCannotBeKeptIsAnError(t *testing.T) {
	c := newFixture(t)
	if err := os.WriteFile(c.settings.Dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := (&attempt{runner: c.runner}).keep(quiet(), judge.Found{Verdicts: []verdict.Verdict{{Outcome: verdict.Held}}}, nil)
	errtest.Check(t, got.err, "write run.json: ")
	errtest.Check(t, c.finish(nil), "write run.json: ")
}
