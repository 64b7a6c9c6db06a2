package selftest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

// found is the result of a scenario with this outcome. A name that begins with mutants/ makes it a mutant.
func found(name, outcome string) runfolder.ScenarioResult {
	s := runfolder.ScenarioResult{
		Name: name, Dir: name, Took: 30 * time.Second, Outcome: outcome, Reproduce: "holdfast run " + name + " --seed 1",
	}
	v := verdict.Verdict{
		Kind: "Spread", Promise: "even", Outcome: verdict.Outcome(outcome), Seen: "it is " + outcome}
	if strings.HasPrefix(name, "mutants/") {
		s.Mutant = &history.Mutant{Removed: "sense", CaughtBy: "Spread", Twin: "chaos/a"}
		v.Outcome = map[string]verdict.Outcome{"held": verdict.Violated, "violated": verdict.Held, "unknown": verdict.Unknown}[outcome]
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	s.Verdicts = []json.RawMessage{raw}
	return s
}

func failed(name string) runfolder.ScenarioResult {
	s := found(name, "")
	s.Took, s.Verdicts, s.Error = time.Second, nil, "provision a cluster: no engine"
	return s
}

func unsupported(name string) runfolder.ScenarioResult {
	s := found(name, "")
	s.Verdicts, s.NotSupported = nil, "Specified qdisc kind is unknown"
	return s
}

// roundOf is the run.json of a round.
func roundOf(n int, results ...runfolder.ScenarioResult) runfolder.File {
	began := time.Date(2026, 11, 21, 20, n, 0, 0, time.UTC)
	return runfolder.File{
		ID: fmt.Sprintf("20261121-200000/round-%03d", n), Seed: uint64(n), Started: began, Ended: began.Add(time.Minute),
		Holdfast: "v1.2.3", Scenarios: results,
	}
}

func selftestOf(t *testing.T, rounds ...runfolder.File) *Report {
	t.Helper()
	s := NewReport("20261121-200000")
	for i, f := range rounds {
		if err := s.Add(fmt.Sprintf("artifacts/20261121-200000/round-%03d", i+1), f); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Unsupported scenarios are listed, and do not count.
func TestSelftestNamesWhatIsNotSupported(t *testing.T) {
	s := selftestOf(t, roundOf(1, found("chaos/a", "held"), unsupported("chaos/b")))
	if s.Summary.NotJudged != 0 || s.Summary.Unsupported != 1 || s.Summary.Unknown.Seen != 0 || s.Summary.FalseAlarm.Of != 1 {
		t.Errorf("got %+v", s.Summary)
	}
	if !strings.HasSuffix(s.Sentence(), "0 not judged, 1 not supported here") {
		t.Errorf("got %s", s.Sentence())
	}
	if len(s.Explain) != 1 || s.Explain[0].word() != "not supported here" || s.Explain[0].Why != "Specified qdisc kind is unknown" {
		t.Errorf("to explain: %+v", s.Explain)
	}
}

// Each result is counted by itself: Unknown counts as neither caught nor missed, and so does a failed harness.
func TestSelftestCounts(t *testing.T) {
	never := runfolder.ScenarioResult{Name: "chaos/b", Dir: "chaos/b", Error: "not begun: the run was interrupted"}
	s := selftestOf(t,
		roundOf(1, found("chaos/a", "held"), found("chaos/b", "held"), found("mutants/m", "held"), found("mutants/n", "violated")),
		roundOf(2, found("chaos/a", "violated"), found("chaos/b", "unknown"), found("mutants/m", "unknown"), found("mutants/n", "held")),
		roundOf(3, found("chaos/a", "held"), never, failed("mutants/m"), found("mutants/n", "held")),
	)
	want := []Row{ // the worst first, then by name
		{Scenario: "chaos/a", Runs: 3, Held: 2, Violated: 1, TookSeconds: 30},
		{Scenario: "mutants/n", Mutant: true, Runs: 3, Caught: 2, Missed: 1, CaughtApart: 1, TookSeconds: 30},
		{Scenario: "mutants/m", Mutant: true, Runs: 3, Caught: 1, Unknown: 1, NotJudged: 1, TookSeconds: 61.0 / 3},
		{Scenario: "chaos/b", Runs: 2, Held: 1, Unknown: 1, TookSeconds: 30},
	}
	if diff := cmp.Diff(want, s.Scenarios); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rates := s.Summary
	if rates.Detection.Seen != 2 || rates.Detection.Of != 3 || rates.DetectionApart.Seen != 1 || rates.DetectionApart.Of != 1 || rates.FalseAlarm.Seen != 1 || rates.FalseAlarm.Of != 4 ||
		rates.Unknown.Seen != 2 || rates.Unknown.Of != 10 || rates.NotJudged != 1 {
		t.Errorf("got %+v", rates)
	}
	var cases []string
	for _, c := range s.Explain {
		cases = append(cases, fmt.Sprintf("%s: %s (%d) %s, %s", c.word(), c.Scenario, c.Seed, c.Why, c.Record))
	}
	const at = "artifacts/20261121-200000/round-00"
	explained := []string{
		"❌ missed: mutants/n (1) it is violated, " + at + "1/mutants/n",
		"❌ false alarm: chaos/a (2) it is violated, " + at + "2/chaos/a",
		"❔ Unknown: chaos/b (2) it is unknown, " + at + "2/chaos/b",
		"❔ Unknown: mutants/m (2) it is unknown, " + at + "2/mutants/m",
		"❔ not judged: mutants/m (3) provision a cluster: no engine, " + at + "3/mutants/m",
	}
	if diff := cmp.Diff(explained, cases); diff != "" {
		t.Errorf("to explain (-want +got):\n%s", diff)
	}
}

// Mutants whose twin did not hold or was not run are counted apart, and so are mutants that are caught by chance only, which may be
// missed. Mutants whose server sets a trap are marked.
func TestSelftestCountsMutantsApart(t *testing.T) {
	mutant := func(name, outcome, twin string, edit func(*history.Mutant)) runfolder.ScenarioResult {
		s := found(name, outcome)
		s.Mutant.Twin = twin
		edit(s.Mutant)
		return s
	}
	as := func(*history.Mutant) {}
	escaped := mutant("mutants/chance", "held", "chaos/a", func(m *history.Mutant) { m.ByChance = true })
	escaped.Caught = json.RawMessage(`{"outcome":"held","seen":"not caught, as may happen","numbers":{"caught":0}}`)
	chance := mutant("mutants/chance", "held", "chaos/a", func(m *history.Mutant) { m.ByChance = true })
	chance.Caught = json.RawMessage(`{"outcome":"held","seen":"caught: by luck","numbers":{"caught":1}}`)
	trap := mutant("mutants/trap", "held", "chaos/a", func(m *history.Mutant) { m.Trap = true })
	s := selftestOf(t,
		roundOf(1, found("chaos/a", "held"), found("chaos/b", "violated"), trap, escaped, mutant("mutants/b", "held", "chaos/b", as),
			mutant("mutants/c", "held", "chaos/c", as), mutant("mutants/d", "violated", "chaos/c", as)),
		roundOf(2, found("chaos/a", "held"), trap, chance, failed("chaos/b"), mutant("mutants/b", "held", "chaos/b", as)),
	)
	rates := s.Summary
	if rates.Detection.Seen != 2 || rates.Detection.Of != 2 || rates.DetectionApart.Seen != 3 || rates.DetectionApart.Of != 4 ||
		rates.ByChance.Seen != 1 || rates.ByChance.Of != 2 || rates.Trapped != 2 {
		t.Errorf("got %+v", rates)
	}
	var b strings.Builder
	if err := markdown(&b, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"2 of 2 broken workloads caught", "apart, without a twin that held in the same run: 3 of 4 caught", "of those caught by chance alone: 1 of 2",
		"2 of the caught had a server that sets a trap: it waits up to a second", "| mutants caught, apart | 3 | 4 judged", "mutants/trap (sets a trap)",
		"mutants/chance (by chance)", "mutants/b (2 without a twin that held)", "its twin was not run",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if got := s.Result(); got != reports.Violated { // one mutant was missed, although counted apart
		t.Errorf("result %s", got)
	}
	// A mutant that is caught by chance only may be missed.
	if got := selftestOf(t, roundOf(1, found("chaos/a", "held"), escaped)).Result(); got != reports.Held {
		t.Errorf("one that escaped: %s", got)
	}
}

func TestSelftestResult(t *testing.T) {
	good := []runfolder.ScenarioResult{found("chaos/a", "held"), found("mutants/m", "held")}
	for name, test := range map[string]struct {
		results      []runfolder.ScenarioResult
		asked, whole int
		want         reports.Result
	}{
		"all is well":               {good, 1, 1, reports.Held},
		"added up":                  {good, 0, 0, reports.Held},
		"a miss":                    {append(good, found("mutants/n", "violated")), 1, 1, reports.Violated},
		"a false alarm":             {append(good, found("chaos/b", "violated"), found("chaos/c", "unknown")), 1, 0, reports.Violated},
		"an Unknown":                {append(good, found("chaos/b", "unknown")), 1, 1, reports.Unknown},
		"not judged":                {append(good, failed("chaos/b")), 1, 1, reports.Unknown},
		"a round cut":               {good, 2, 1, reports.Unknown},
		"nothing judged":            {nil, 0, 0, reports.Unknown},
		"one is not supported":      {append(good, unsupported("chaos/b")), 1, 1, reports.Held},
		"none is supported":         {[]runfolder.ScenarioResult{unsupported("chaos/b")}, 1, 1, reports.Unknown},
		"a word of a newer harness": {append(good, found("chaos/b", "splendid")), 1, 1, reports.Unknown},
	} {
		s := selftestOf(t, roundOf(1, test.results...))
		s.Asked, s.Whole = test.asked, test.whole
		if got := s.Result(); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// The bounds agree with tables of the exact interval, and for 0 or all with the definition.
func TestNewRate(t *testing.T) {
	for _, test := range []struct {
		seen, of  int
		low, high float64
		words     string
	}{
		{0, 0, 0, 1, "nothing is known"},
		{0, 200, 0, 0.01487, "at most 1.5 %"},
		{200, 200, 0.98513, 1, "at least 98.5 %"},
		{0, 1, 0, 0.95, "at most 95 %"},
		{1, 10, 0.00253, 0.44502, "0.25 % to 44.5 %"},
		{199, 200, 0.97245, 0.99987, "97.2 % to 100 %"},
	} {
		r := NewRate(test.seen, test.of)
		if math.Abs(r.Low-test.low) > 1e-4 || math.Abs(r.High-test.high) > 1e-4 || r.Words() != test.words {
			t.Errorf("%d of %d: %.5f to %.5f, %q; want %.5f to %.5f, %q", test.seen, test.of, r.Low, r.High, r.Words(),
				test.low, test.high, test.words)
		}
	}
}

// storeRun writes a run with two good records into a folder. run.json may list only one of them.
func storeRun(t *testing.T, dir string, f runfolder.File) {
	t.Helper()
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"chaos/a", "chaos/late"} {
		b := historytest.Healthy().Header(func(h *history.Header) {
			h.Scenario, h.Promises = name, []history.Promise{promise}
		})
		if err := b.Write(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// Stored runs count as they were judged, or are judged again. A record that was never judged counts only then; otherwise a remark names it.
func TestSelftestFromStoredRuns(t *testing.T) {
	dir := t.TempDir()
	storeRun(t, filepath.Join(dir, "round-001"), roundOf(1, found("chaos/a", "violated")))
	storeRun(t, filepath.Join(dir, "round-002"), roundOf(2, found("chaos/a", "violated"), found("chaos/late", "held")))
	single := filepath.Join(t.TempDir(), "single")
	storeRun(t, single, roundOf(3, found("chaos/a", "unknown"), found("chaos/late", "held")))

	s := NewReport("sum")
	for _, folder := range []string{dir, single} {
		if err := s.AddStored(folder, false); err != nil {
			t.Fatal(err)
		}
	}
	remark := filepath.Join(dir, "round-001") + ": 1 record was never judged, because the run was killed: add it with --judge"
	if diff := cmp.Diff([]string{remark}, s.Remarks); diff != "" || len(s.Runs) != 3 {
		t.Errorf("%d runs; remarks (-want +got):\n%s", len(s.Runs), diff)
	}
	if got := s.Summary; got.FalseAlarm.Seen != 2 || got.FalseAlarm.Of != 4 || got.Unknown.Seen != 1 {
		t.Errorf("as judged: %+v", got)
	}
	if err := s.AddStored(single, false); err == nil || !strings.Contains(err.Error(), "it was added already, from "+single) {
		t.Errorf("the same run twice: %v", err)
	}

	anew := NewReport("sum")
	for _, folder := range []string{dir, single} {
		if err := anew.AddStored(folder, true); err != nil {
			t.Fatal(err)
		}
	}
	if got := anew.Summary; got.FalseAlarm.Seen != 0 || got.FalseAlarm.Of != 6 || got.Unknown.Seen != 0 || len(anew.Remarks) > 0 {
		t.Errorf("judged anew: %+v, %q; explain %+v", got, anew.Remarks, anew.Explain)
	}
}

func TestSelftestFromWhatIsNoRun(t *testing.T) {
	empty := t.TempDir()
	outside := t.TempDir()
	bad := found("chaos/a", "held")
	bad.Dir = "../elsewhere"
	storeRun(t, outside, roundOf(1, bad))
	if err := NewReport("sum").AddStored(empty, true); err == nil || !strings.Contains(err.Error(), "no run.json in "+empty) {
		t.Errorf("an empty folder: %v", err)
	}
	s := NewReport("sum")
	if err := s.AddStored(outside, true); err != nil {
		t.Fatal(err)
	}
	if len(s.Explain) != 1 || s.Explain[0].Why != `its folder "../elsewhere" is not below the run's` {
		t.Errorf("a record that lies elsewhere: %+v", s.Explain)
	}
}

func TestSelftestGolden(t *testing.T) {
	s := selftestOf(t,
		roundOf(1, found("chaos/a", "held"), found("mutants/m", "held"), found("mutants/n", "violated")),
		roundOf(2, found("chaos/a", "violated"), found("mutants/m", "unknown"), failed("mutants/n")),
	)
	s.Asked, s.Whole, s.Remarks, s.Instrument = 3, 2, []string{"a | b"}, flawless()
	s.Instrument.Losses[0].TimedOut, s.Instrument.Losses[0].FalseAlarms = 1, 2
	dir := t.TempDir()
	if err := Write(dir, s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{MarkdownFile, JSONFile} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(golden), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The number of cases in selftest.md is limited. selftest.json has all cases.
func TestSelftestOfMuchTrouble(t *testing.T) {
	var rounds []runfolder.File
	for n := 1; n <= maxCases+20; n++ {
		rounds = append(rounds, roundOf(n, found("mutants/m", "violated")))
	}
	s := selftestOf(t, rounds...)
	var b strings.Builder
	if err := markdown(&b, s); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "❌ missed"); n != maxCases || !strings.Contains(b.String(), "20 more are in selftest.json.") {
		t.Errorf("%d cases in\n%s", n, b.String())
	}
	if len(s.Explain) != len(rounds) {
		t.Errorf("%d cases in all, want %d", len(s.Explain), len(rounds))
	}
}

// The time span of stored runs does not depend on the order in which they are added.
func TestSelftestSpansItsRuns(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	early := runfolder.File{ID: "1", Started: noon, Ended: noon.Add(time.Minute)}
	late := runfolder.File{ID: "2", Started: noon.Add(time.Hour), Ended: noon.Add(2 * time.Hour)}
	total := NewReport("x")
	for _, f := range []runfolder.File{late, early} {
		if err := total.Add("folder", f); err != nil {
			t.Fatal(err)
		}
	}
	if from, to := total.first(), total.last(); from != "2026-11-21 12:00:00" || to != "2026-11-21 14:00:00" {
		t.Errorf("from %s to %s", from, to)
	}
}

// An interrupted scenario does not count: it is neither Unknown nor a failure of the harness. An interrupted selftest is not Held, but a
// sum of stored runs is what the rest of the runs is.
func TestSelftestThatWasInterrupted(t *testing.T) {
	cut, never := found("chaos/b", ""), found("chaos/c", "")
	cut.Verdicts, cut.Interrupted = nil, "interrupted in the phase steady"
	never.Took, never.Verdicts, never.NotBegun = 0, nil, "not begun: the run was interrupted"
	s := selftestOf(t, roundOf(1, found("chaos/a", "held"), cut, never))
	if s.Summary.Unknown.Seen != 0 || s.Summary.NotJudged != 0 || s.Summary.FalseAlarm.Of != 1 || len(s.Explain) != 0 ||
		!strings.HasSuffix(s.Sentence(), ", 1 interrupted, 1 not begun") {
		t.Errorf("%s\n%+v", s.Sentence(), s)
	}
	if s.Result() != reports.Held {
		t.Errorf("added up: %s", s.Result())
	}
	if s.Asked, s.Whole = 2, 0; s.Result() != reports.Interrupted {
		t.Errorf("interrupted: %s", s.Result())
	}
	missed := found("mutants/c", "violated")
	if s = selftestOf(t, roundOf(1, missed, cut)); s.Result() != reports.Violated {
		t.Errorf("a miss before: %s", s.Result())
	}
}
