package reports

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// TestWhatIsNotSupportedIsNamedAndCountsForNothing: neither success nor failure, in no format; but a run of nothing else has
// shown nothing.
func TestWhatIsNotSupportedIsNamedAndCountsForNothing(t *testing.T) {
	no := Scenario{Name: "chaos/latency"}
	no.heed(&history.ScenarioResult{NotSupported: "tc netem is not supported here"})
	if no.Result != Unsupported || no.Why != "tc netem is not supported here" || no.Result.Good() || no.Result.Broken() {
		t.Errorf("got %s, %s", no.Result, no.Why)
	}
	good := Scenario{Name: "chaos/drain", Result: Held}
	for want, m := range map[Result]Model{
		Held: {Scenarios: []Scenario{good, no}}, Unknown: {Scenarios: []Scenario{no}}, Violated: {Scenarios: []Scenario{no, {Result: Violated}}},
	} {
		if got := m.Result(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	m := Model{Scenarios: []Scenario{good, no}}
	if got := m.summary(); !strings.HasPrefix(got, "1 held, 1 unsupported.") {
		t.Errorf("got %s", got)
	}
	var junit bytes.Buffer
	if err := WriteJUnit(&junit, m); err != nil || !strings.Contains(junit.String(), `<skipped message="tc netem is not supported here">`) ||
		!strings.Contains(junit.String(), `skipped="1"`) || strings.Contains(junit.String(), "<error") {
		t.Errorf("%v: %s", err, &junit)
	}
	if got := NewReport(m).Counts; got.Unsupported != 1 || got.Held != 1 || got.Unknown != 0 {
		t.Errorf("got %+v", got)
	}
	// Its own verdicts, an error or an outcome weigh more than the word: somebody has tried.
	tried := Scenario{Name: "chaos/latency", Result: Held}
	tried.heed(&history.ScenarioResult{NotSupported: "no", Outcome: "violated"})
	if tried.Result != Violated {
		t.Errorf("got %s", tried.Result)
	}
}
