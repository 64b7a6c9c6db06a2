package reports

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func TestSumUp(t *testing.T) {
	v := func(kind string, o verdict.Outcome) verdict.Verdict {
		return verdict.Verdict{Kind: kind, Outcome: o, Seen: kind + " " + string(o)}
	}
	untested := verdict.Verdict{Kind: "U", Outcome: verdict.Unknown, Untested: true, Seen: "U untested"}
	mutant := &Mutant{}
	caught := func(o verdict.Outcome, n float64) *verdict.Verdict {
		return &verdict.Verdict{Kind: "Caught", Outcome: o, Seen: "of the mutant", Numbers: map[string]float64{verdict.CaughtNumber: n}}
	}
	violated := []verdict.Verdict{v("A", "violated")}
	for name, test := range map[string]struct {
		verdicts   []verdict.Verdict
		mutant     *Mutant
		caught     *verdict.Verdict
		incomplete string
		want       Result
		why        string
	}{
		"all held":                     {[]verdict.Verdict{v("A", "held"), v("B", "held")}, nil, nil, "", Held, "A held"},
		"one unknown":                  {[]verdict.Verdict{v("A", "held"), v("B", "unknown")}, nil, nil, "", Unknown, "B unknown"},
		"violated before unknown":      {[]verdict.Verdict{v("A", "unknown"), v("B", "violated")}, nil, nil, "", Violated, "B violated"},
		"a word of a later version":    {[]verdict.Verdict{v("A", "splendid")}, nil, nil, "", Unknown, "A splendid"},
		"nothing judged":               {nil, nil, nil, "", Unknown, "no promise was judged"},
		"held on half a record":        {[]verdict.Verdict{v("A", "held")}, nil, nil, "torn", Unknown, "the record is incomplete: torn"},
		"violated on half a record":    {[]verdict.Verdict{v("A", "violated")}, nil, nil, "torn", Violated, "A violated"},
		"untested does not count":      {[]verdict.Verdict{untested, v("A", "held")}, nil, nil, "", Held, "A held"},
		"nor beside what is missing":   {[]verdict.Verdict{untested, v("A", "unknown")}, nil, nil, "", Unknown, "A unknown"},
		"all untested":                 {[]verdict.Verdict{untested, untested}, nil, nil, "", Unknown, "U untested"},
		"mutant caught":                {violated, mutant, caught("held", 1), "", Caught, "of the mutant"},
		"mutant missed":                {violated, mutant, caught("violated", 0), "", Missed, "of the mutant"},
		"mutant unknown":               {violated, mutant, caught("unknown", 0), "", Unknown, "of the mutant"},
		"mutant that need not be":      {violated, mutant, caught("held", 0), "", Escaped, "of the mutant"},
		"mutant without a record":      {violated, mutant, nil, "", Unknown, "it was not judged whether the mutant is caught"},
		"mutant caught on half of one": {violated, mutant, caught("held", 1), "torn", Unknown, "the record is incomplete: torn"},
		"mutant missed on half of one": {violated, mutant, caught("violated", 0), "torn", Unknown, "the record is incomplete: torn"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Scenario{Mutant: test.mutant, Incomplete: test.incomplete}
			if s.Mutant != nil && test.caught != nil {
				s.Mutant = &Mutant{Verdict: new(newVerdict(*test.caught))}
			}
			s.conclude(test.verdicts)
			got, why := s.Result, s.Why
			if got != test.want || why != test.why {
				t.Errorf("%s (%s), want %s (%s)", got, why, test.want, test.why)
			}
		})
	}
}

func TestReportResult(t *testing.T) {
	of := func(results ...Result) (m Report) {
		for _, r := range results {
			m.Scenarios = append(m.Scenarios, Scenario{Result: r})
		}
		return m
	}
	troubled := of(Held)
	troubled.Trouble = []string{"killed"}
	for name, test := range map[string]struct {
		report Report
		want   Result
	}{
		"nothing ran":      {Report{}, Unknown},
		"all good":         {of(Held, Caught), Held},
		"one unknown":      {of(Unknown, Held), Unknown},
		"a missed mutant":  {of(Unknown, Missed, Held), Violated},
		"one violated":     {of(Held, Violated), Violated},
		"a troubled run":   {troubled, Unknown},
		"an unknown word?": {of("splendid"), Unknown},
	} {
		if got := test.report.Completed().Result; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// A run is interrupted before it is unknown, and after it is violated.
func TestResultOfARunThatWasInterrupted(t *testing.T) {
	cut, never := Scenario{Name: "chaos/b"}, Scenario{Name: "chaos/c"}
	cut.takeResultOf(&runfolder.ScenarioResult{Interrupted: "interrupted in the phase steady"})
	never.takeResultOf(&runfolder.ScenarioResult{NotBegun: "not begun: the run was interrupted"})
	for _, test := range []struct {
		with Scenario
		want Result
	}{
		{Scenario{Result: Held}, Interrupted}, {Scenario{Result: Unknown}, Interrupted}, {Scenario{Result: Violated}, Violated},
		{Scenario{Result: Missed}, Violated},
	} {
		m := Report{Interrupted: "SIGINT", Scenarios: []Scenario{test.with, cut, never}}.Completed()
		if m.Result != test.want || !strings.Contains(m.Summary(), "1 interrupted, 1 not begun. Interrupted by SIGINT.") {
			t.Errorf("%s with an interruption: %s, %s", test.with.Result, m.Result, m.Summary())
		}
	}
}

// What is not supported is neither success nor failure; but a run of nothing else has shown nothing.
func TestWhatIsNotSupportedIsNamedAndCountsForNothing(t *testing.T) {
	no := Scenario{Name: "chaos/latency"}
	no.takeResultOf(&runfolder.ScenarioResult{NotSupported: "tc netem is not supported here"})
	if no.Result != Unsupported || no.Why != "tc netem is not supported here" || no.Result.Good() || no.Result.Broken() {
		t.Errorf("got %s, %s", no.Result, no.Why)
	}
	good := Scenario{Name: "chaos/drain", Result: Held}
	for want, m := range map[Result]Report{
		Held: {Scenarios: []Scenario{good, no}}, Unknown: {Scenarios: []Scenario{no}}, Violated: {Scenarios: []Scenario{no, {Result: Violated}}},
	} {
		if got := m.Completed().Result; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	// Its own verdicts, an error or an outcome weigh more than the word: somebody has tried.
	tried := Scenario{Name: "chaos/latency", Result: Held}
	tried.takeResultOf(&runfolder.ScenarioResult{NotSupported: "no", Outcome: "violated"})
	if tried.Result != Violated {
		t.Errorf("got %s", tried.Result)
	}
}

// TestWhatIsNotSupportedIsSoInTheRecord: a report does not take the word of run.json, which may be older, or wrong.
func TestWhatIsNotSupportedIsSoInTheRecord(t *testing.T) {
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		t.Fatal(err)
	}
	const why = "Specified qdisc kind is unknown"
	record := func(why string) *historytest.Builder {
		return historytest.Unsupported(historytest.Healthy(), why).Header(func(h *history.Header) {
			h.Promises = []history.Promise{promise}
		})
	}
	for want, b := range map[Result]*historytest.Builder{
		Unsupported: record(why),
		Violated:    record(why).Fail(history.LaneFresh, 20*time.Second, 21*time.Second, history.Refused),
		Unknown:     record("sh: tc: not found"),
	} {
		dir := t.TempDir()
		if err := b.Write(filepath.Join(dir, "chaos", "latency")); err != nil {
			t.Fatal(err)
		}
		s := newBuilding(dir, "20260102-030405-built").scenarioOf(&runfolder.ScenarioResult{Name: "test/built", Dir: "chaos/latency", NotSupported: why})
		if s.Result != want {
			t.Errorf("got %s: %s, want %s", s.Result, s.Why, want)
		}
	}
	if s := newBuilding(t.TempDir(), "").scenarioOf(&runfolder.ScenarioResult{Name: "test/built", Dir: "gone", NotSupported: why}); s.Result != Unknown {
		t.Errorf("without a record: %s: %s", s.Result, s.Why)
	}
}

func TestBoundsSayNothingWhereTheyCannot(t *testing.T) {
	s := Scenario{Lanes: []Lane{{Name: history.LaneFresh, OK: 100, Failed: 1}}}
	if requests, disruptions := s.Bounds95(); requests != nil || disruptions != nil {
		t.Errorf("with failures: %v %v", requests, disruptions)
	}
	s.Lanes[0].Failed = 0
	if requests, disruptions := s.Bounds95(); requests == nil || *requests != 0.03 || disruptions != nil {
		t.Errorf("without disruptions: %v %v", requests, disruptions)
	}
	if f := (&Scenario{}).Figures(); strings.Trim(f.Requests+f.Failed+f.Disruptions+f.Bound+f.P99, "–") != "" {
		t.Errorf("without traffic: %+v", f)
	}
}

// Failures are as predicted only if a promise that allows them held, in a scenario that held.
func TestPredicted(t *testing.T) {
	allows := verdict.Verdict{Outcome: verdict.Held}
	allows.Measure("failed", 120)
	allows.AtMost(FailedOutside, 0)
	broken := allows
	broken.Outcome = verdict.Violated
	lanes := []Lane{{Name: history.LaneFresh, OK: 880, Failed: 120}}
	for name, test := range map[string]struct {
		s    Scenario
		want string
	}{
		"held":                {Scenario{Result: Held, Lanes: lanes, Verdicts: []Verdict{newVerdict(allows)}}, "120 of 1,000 requests failed, as predicted, over 0 disruption events."},
		"broken":              {Scenario{Result: Violated, Lanes: lanes, Verdicts: []Verdict{newVerdict(broken)}}, "120 of 1,000 requests failed over"},
		"another is broken":   {Scenario{Result: Violated, Lanes: lanes, Verdicts: []Verdict{newVerdict(allows)}}, "120 of 1,000 requests failed over"},
		"no promise of it":    {Scenario{Result: Held, Lanes: lanes}, "120 of 1,000 requests failed over"},
		"more than predicted": {Scenario{Result: Held, Lanes: append(lanes, Lane{Name: history.LaneReused, Failed: 3}), Verdicts: []Verdict{newVerdict(allows)}}, "123 of 1,003 requests failed (120 as predicted) over"},
	} {
		m := Report{Scenarios: []Scenario{test.s}}
		if got := m.Summary(); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}

// A remedy is proven by the scenario that was run again with it, and by no other.
func TestRemediesAreProven(t *testing.T) {
	failed := func(n float64) []Verdict {
		return []Verdict{newVerdict(verdict.Verdict{Outcome: verdict.Violated, Numbers: map[string]float64{"failed": n, "requests": 600}})}
	}
	remedies := func() []judge.Remedy {
		return []judge.Remedy{{Rule: "no-prestop", Fix: json.RawMessage(`[{}]`)}, {Why: "advice"}}
	}
	r := Report{Scenarios: []Scenario{
		{Name: "app/rollout", Result: Violated, Verdicts: failed(12), Remedies: remedies()},
		{Name: "app/drain", Result: Violated, Verdicts: failed(12), Remedies: remedies()},
		{Name: "app/rollout-fixed", Result: Violated, Verdicts: failed(90)},
	}}
	r.proveRemedies()
	var got []string
	for _, s := range r.Scenarios[:2] {
		for _, one := range s.Remedies {
			got = append(got, one.Proof)
		}
	}
	want := []string{"made worse by no-prestop: 90 of 600 requests failed, and without it 12 of 600", "", "", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("proof (-want +got):\n%s", diff)
	}
}
