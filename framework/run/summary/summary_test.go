package summary_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/summary"
)

// The summary names unsupported scenarios and does not count them.
func TestWhatIsNotSupportedIsNamed(t *testing.T) {
	got := summary.Of(runfolder.File{Scenarios: []runfolder.ScenarioResult{
		{Name: "chaos/a", Outcome: "held"}, {Name: "chaos/latency", NotSupported: "no netem"},
	}})
	const want = "1 scenario held, 0 violated, 0 unknown; not supported here: chaos/latency"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Who has recorded a change sees each promise, and which of them nothing was done about.
func TestRecordedPromisesArePrinted(t *testing.T) {
	var out bytes.Buffer
	summary.WriteRecorded(&out, runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: "record/shop", Verdicts: []json.RawMessage{
		json.RawMessage(`{"promise": "no request fails", "outcome": "held", "seen": "0 of 120 failed"}`),
		json.RawMessage(`{"promise": "no node is lost", "outcome": "unknown", "untested": true, "seen": "not tested: no node was lost"}`),
	}}}})
	const want = "  held          no request fails\n                0 of 120 failed\n" +
		"  not tested    no node is lost\n                not tested: no node was lost\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
