package reports

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// TestWhatIsNotSupportedIsNamedAndCountsForNothing: neither success nor failure, in no format; but a run of nothing else has
// shown nothing.
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
	m := Report{Scenarios: []Scenario{good, no}}.Completed()
	if got := m.Summary(); !strings.HasPrefix(got, "1 held, 1 unsupported.") {
		t.Errorf("got %s", got)
	}
	if got := m.Counts; got.Unsupported != 1 || got.Held != 1 || got.Unknown != 0 {
		t.Errorf("got %+v", got)
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
