package invariant_test

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// everything are the promises, each as strict as a healthy record keeps it.
func everything() []invariant.Invariant {
	return []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}, invariant.BudgetHonoured{},
		invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}, invariant.RecoversWithin{Limit: 5 * second},
	}
}

// TestAFaultThatEndsByItselfProvesNothing, as does a healthy record of nothing.
func TestAFaultThatEndsByItselfProvesNothing(t *testing.T) {
	for want, run := range map[verdict.Outcome]*ht.Builder{verdict.Held: ht.Healthy(), verdict.Unknown: ht.Healthy().Node(25*second, ht.ReadyNode("w1", "a"))} {
		for _, v := range judge.CheckAll(run.Run(), everything()) {
			if v.Outcome != want {
				t.Errorf("%s is %s, want %s: %s", v.Kind, v.Outcome, want, v.Seen)
			}
		}
	}
}

// TestCutAnywhere cuts the events off after each, as a killed harness does: never Held, never a panic.
func TestCutAnywhere(t *testing.T) {
	whole := ht.Healthy().DropRequests(func(r history.Request) bool { return r.Seq%40 != 0 }).Run()
	for n := range whole.Events {
		run := whole
		run.Events = whole.Events[:n]
		run.Incomplete = "cut off"
		for _, v := range judge.CheckAll(run, everything()) {
			if v.Outcome == verdict.Held {
				t.Errorf("after %d events %s is held: %s", n, v.Kind, v.Seen)
			}
		}
	}
}

// TestLostEvents takes single events out of a record that says it is whole: no panic, and no proof of a failure that
// was not there.
func TestLostEvents(t *testing.T) {
	whole := ht.Healthy().DropRequests(func(r history.Request) bool { return r.Seq%40 != 0 }).Run()
	for n := range whole.Events {
		run := whole
		run.Events = append(append([]history.Event(nil), whole.Events[:n]...), whole.Events[n+1:]...)
		for _, v := range judge.CheckAll(run, everything()[:2]) {
			if v.Outcome == verdict.Violated {
				t.Errorf("without event %d %s is violated: %s", n, v.Kind, v.Seen)
			}
		}
	}
}

// TestOddMoments: a damaged record may hold any moment; memory stays bounded, and nothing panics.
func TestOddMoments(t *testing.T) {
	const far = history.Offset(1<<63 - 1)
	whole := failVictims(killed(), history.LaneFresh, 16*second, 17*second).
		DropRequests(func(r history.Request) bool { return r.Seq%40 != 0 }).Run()
	for n, e := range whole.Events {
		if e.Fault == nil && e.Phase == nil && e.Node == nil && e.Load == nil {
			continue
		}
		for _, at := range []history.Offset{-far, -1, far / 2, far} {
			run := whole
			run.Events = slices.Clone(whole.Events)
			run.Events[n].T = at
			slices.SortStableFunc(run.Events, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
			rows := 0
			run = withRequests(run, func(r *history.Request) {
				if rows++; rows == 10 {
					r.Due, r.Sent, r.Done, r.Outcome = at, at, at, history.Reset
				}
			})
			for _, v := range judge.CheckAll(run, everything()) {
				if v.Outcome == "" || v.Seen == "" {
					t.Errorf("with event %d at %d: %+v", n, at, v)
				}
			}
		}
	}
}

func TestJudgeUsesWhatIsWritten(t *testing.T) {
	var promises []history.Promise
	for _, i := range everything() {
		p, err := invariant.Encode(i)
		if err != nil {
			t.Fatal(err)
		}
		promises = append(promises, p)
	}
	promises = append(promises, history.Promise{Kind: "Harmony", Params: json.RawMessage(`{"maxSkew":1}`)})
	run := ht.Healthy().Header(func(h *history.Header) { h.Promises = promises }).Run()
	got := judge.Judge(run)
	known := invariant.Kinds()
	refusal := `decode promise: this version of holdfast does not know kind "Harmony"; it knows ` + strings.Join(known[:len(known)-1], ", ") +
		" and " + known[len(known)-1]
	want := append(judge.CheckAll(run, everything()), verdict.Verdict{
		Promise: `Harmony {"maxSkew":1}`, Kind: "Harmony", Outcome: verdict.Unknown,
		Seen: "no verdict: " + refusal, Evidence: []string{refusal},
	})
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(judge.Judge(ht.Healthy().Run())) != 0 {
		t.Error("verdicts without promises")
	}
}

// TestSamePass: what a promise says does not depend on which others are judged.
func TestSamePass(t *testing.T) {
	run := failVictims(killed(), history.LaneFresh, 16*second, 17*second).Run()
	together := judge.CheckAll(run, everything())
	for i, p := range everything() {
		if diff := gocmp.Diff(judge.CheckAll(run, []invariant.Invariant{p})[0], together[i]); diff != "" {
			t.Errorf("%s (-alone +together):\n%s", p, diff)
		}
	}
	if diff := gocmp.Diff(together, judge.CheckAll(run, everything())); diff != "" {
		t.Errorf("judged twice (-first +second):\n%s", diff)
	}
}

// foreign is a promise of another module, which says Held whatever is missing.
type foreign struct{}

func (foreign) String() string        { return "something else" }
func (foreign) Needs() evidence.Needs { return evidence.Needs{} }
func (foreign) Judge(*evidence.Run, verdict.Missing) verdict.Verdict {
	return verdict.Verdict{Outcome: verdict.Held, Seen: "fine"}
}

// TestForeignPromises: a promise of another module is judged as ours are, and is not Held without the evidence that it needs.
func TestForeignPromises(t *testing.T) {
	const missing = "the record is incomplete: it was cut off"
	whole, cut := ht.Healthy().Run(), ht.Healthy().Run()
	cut.Incomplete = "it was cut off"
	got := append(judge.CheckAll(whole, []invariant.Invariant{foreign{}}), judge.CheckAll(cut, []invariant.Invariant{foreign{}})...)
	want := []verdict.Verdict{
		{Promise: "something else", Kind: "foreign", Outcome: verdict.Held, Seen: "fine"},
		{Promise: "something else", Kind: "foreign", Outcome: verdict.Unknown, Seen: "no verdict: " + missing, Evidence: []string{missing}},
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOverall(t *testing.T) {
	const h, v, u = verdict.Held, verdict.Violated, verdict.Unknown
	for _, s := range []struct {
		of   []verdict.Outcome
		want verdict.Outcome
	}{
		{nil, u}, {[]verdict.Outcome{h}, h}, {[]verdict.Outcome{h, h}, h}, {[]verdict.Outcome{h, u}, u},
		{[]verdict.Outcome{u, h}, u}, {[]verdict.Outcome{u, v}, v}, {[]verdict.Outcome{v, u, h}, v},
		{[]verdict.Outcome{h, v}, v}, {[]verdict.Outcome{h, "fine"}, u},
	} {
		var verdicts []verdict.Verdict
		for _, o := range s.of {
			verdicts = append(verdicts, verdict.Verdict{Outcome: o})
		}
		if got := judge.Overall(verdicts); got != s.want {
			t.Errorf("%v: %s, want %s", s.of, got, s.want)
		}
	}
}
