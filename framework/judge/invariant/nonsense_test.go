package invariant_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// edits are what somebody may write into a record by hand, with checksums that are right, and what every verdict then says.
var edits = map[string]struct {
	edit func(*history.Run)
	says string
}{
	"an event before the beginning": {func(r *history.Run) { r.Events[len(r.Events)/2].T = -1 }, "it is before the beginning"},
	"a sample of noise that is less than nothing": {func(r *history.Run) {
		addEvent(r, history.Event{Noise: &history.Noise{Of: history.NoiseHarness, Pause: -ms}})
	}, "a sample of noise ends before it begins, or is negative"},
	"a change that came back before it was made": {func(r *history.Run) {
		addEvent(r, history.Event{Echo: &history.Echo{Sent: 1 << 60}})
	}, "a change was seen before it was made"},
	"a gap that ends before it begins": {func(r *history.Run) {
		addEvent(r, history.Event{Gap: &history.Gap{What: "pods", Since: 1 << 60, Bridged: true}})
	}, "a gap ends before it begins"},
	"a clock that is better than right": {func(r *history.Run) {
		addEvent(r, history.Event{Clock: &history.Clock{Worker: ht.Worker, Uncertainty: -ms}})
	}, "the uncertainty of a clock is negative"},
	"a phase that begins again": {func(r *history.Run) {
		addEvent(r, history.Event{Phase: &history.Phase{Name: history.Steady}})
	}, "phase steady begins more than once, again at "},
	"a fault that is injected twice": {func(r *history.Run) { stageAgain(r, history.Injecting) }, " has the stage injecting again at "},
	"a fault that is seen twice":     {func(r *history.Run) { stageAgain(r, history.Seen) }, " has the stage seen again at "},
	"an undo that begins twice":      {func(r *history.Run) { stageAgain(r, history.Healing) }, " has the stage healing again at "},
	"a stage that no fault has": {func(r *history.Run) {
		addEvent(r, history.Event{Fault: &history.FaultMark{ID: timeline.Faults(*r)[0].ID, Name: timeline.Faults(*r)[0].Name, Stage: "bitten"}})
	}, ` has a stage "bitten" at `},
	"a fault of two names": {func(r *history.Run) {
		addEvent(r, history.Event{Fault: &history.FaultMark{ID: timeline.Faults(*r)[0].ID, Name: "tea", Stage: history.Healed}})
	}, ", and at "},
	"a witness that was asked after the revert began": {func(r *history.Run) {
		f := timeline.Faults(*r)[0]
		addEvent(r, history.Event{Fault: &history.FaultMark{ID: f.ID, Name: f.Name, Stage: history.Lasting}})
	}, " was checked at "},
	"a promise of the future":   {func(r *history.Run) { r.Header.Promises[0].Kind = "Eternity" }, `this version of holdfast does not know kind "Eternity"`},
	"a parameter of the future": {func(r *history.Run) { r.Header.Promises[0].Params = []byte(`{"mostly":true}`) }, "unknown field"},
	"a number that is none":     {func(r *history.Run) { r.Header.Promises[0].Params = []byte(`{"limit":NaN}`) }, "invalid character"},
}

// addEvent adds an event as the last one under load.
func addEvent(r *history.Run, e history.Event) {
	i := slices.IndexFunc(r.Events, func(e history.Event) bool { return e.Phase != nil && e.Phase.Name == history.Drained })
	e.T = r.Events[i].T - ms
	r.Events = slices.Insert(r.Events, i, e)
}

// stageAgain writes a stage of the first fault once more.
func stageAgain(r *history.Run, stage history.FaultStage) {
	f := timeline.Faults(*r)[0]
	addEvent(r, history.Event{Fault: &history.FaultMark{ID: f.ID, Name: f.Name, Stage: stage}})
}

// TestEditedRuns: real runs that were changed by hand are never held, and what is violated is so with the doubt beside it.
func TestEditedRuns(t *testing.T) {
	for _, name := range []string{"drain-one-worker", "five-over-three-zones", "drops-at-sigterm"} {
		_, whole := unpackGolden(t, name)
		for what, test := range edits {
			run := whole
			run.Events = slices.Clone(whole.Events)
			run.Header.Promises = slices.Clone(whole.Header.Promises)
			test.edit(&run)
			v := judge.Judge(run)[0]
			lines := append([]string{v.Seen}, v.Evidence...)
			if v.Outcome == verdict.Held || !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, test.says) }) {
				t.Errorf("%s, %s: %s: %q, want %q", name, what, v.Outcome, lines, test.says)
			}
		}
	}
}

// TestNonsenseIsNeverHeld puts one of the edits, at random, into every record in which a promise is held.
func TestNonsenseIsNeverHeld(t *testing.T) {
	names := make([]string, 0, len(edits))
	for name := range edits {
		if !strings.Contains(name, "future") && !strings.Contains(name, "none") { // those of the header
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for kind, good := range kept() {
		if kind == "SharesLoad" { // its record is made in another way
			continue
		}
		random := rand.New(rand.NewPCG(1, uint64(len(kind))))
		for range 3 {
			name := names[random.IntN(len(names))]
			run := good.run().Run()
			edits[name].edit(&run)
			if v := judge.Check(run, good.promise); v.Outcome == verdict.Held {
				t.Errorf("%s with %s is held: %s", kind, name, v.Seen)
			}
		}
	}
}

// TestRowsThatMakeNoSense: one worker reads all three times of a request from one clock, so that they have an order.
func TestRowsThatMakeNoSense(t *testing.T) {
	for what, edit := range map[string]func(*history.Request){
		"request 7 of worker-0 on fresh was sent before it was due":      func(r *history.Request) { r.Sent = r.Due - ms },
		"request 7 of worker-0 on fresh ended before it was sent":        func(r *history.Request) { r.Done = r.Sent - ms },
		"request 7 of worker-0 on fresh was abandoned before it was due": func(r *history.Request) { r.Outcome, r.Done = history.Unsent, r.Due-ms },
	} {
		b := ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Worker == ht.Worker && r.Lane == history.LaneFresh && r.Seq == 7 {
				edit(r)
			}
		}).Retotal()
		v := judge.Check(b.Run(), invariant.NoFailedRequests{})
		if v.Outcome != verdict.Unknown || !strings.Contains(v.Seen, "the record contradicts itself: "+what) {
			t.Errorf("%s: %s: %s", what, v.Outcome, v.Seen)
		}
	}
}
