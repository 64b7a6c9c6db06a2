package formats

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/reports"
)

// TestWhatIsNotSupportedIsSkippedInJUnit: a CI server shows it as neither success nor failure.
func TestWhatIsNotSupportedIsSkippedInJUnit(t *testing.T) {
	m := reports.Report{Scenarios: []reports.Scenario{{Name: "chaos/drain", Result: reports.Held}, {Name: "chaos/latency", Result: reports.Unsupported, Why: "tc netem is not supported here"}}}.Completed()
	var junit bytes.Buffer
	if err := writeJUnit(&junit, m); err != nil || !strings.Contains(junit.String(), `<skipped message="tc netem is not supported here">`) ||
		!strings.Contains(junit.String(), `skipped="1"`) || strings.Contains(junit.String(), "<error") {
		t.Errorf("%v: %s", err, &junit)
	}
}
