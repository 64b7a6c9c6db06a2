package summary_test

import (
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
