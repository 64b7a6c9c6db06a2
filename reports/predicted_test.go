package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

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
