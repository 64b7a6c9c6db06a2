package run

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// A fix is judged by the cause that it is for. That nothing fails any more is said only where that was seen.
func TestWhatAFixDid(t *testing.T) {
	const late, cut = "requests were sent to a pod that had stopped listening", "requests were cut by a server"
	broken := result{outcome: verdict.Violated, remedies: []judge.Remedy{
		{Rule: "no-prestop", Why: late, Fix: json.RawMessage(`[{}]`)}, {Why: "advice without a fix"},
	}}
	for name, test := range map[string]struct {
		again result
		want  string
	}{
		"held": {result{outcome: verdict.Held}, "cured by no-prestop: app/rollout-fixed"},
		"another cause": {
			result{outcome: verdict.Violated, remedies: []judge.Remedy{{Why: cut + ": let it finish"}}},
			"cured by no-prestop of what it is for: app/rollout-fixed; what is left has another cause: " + cut + ": let it finish",
		},
		"the same cause": {
			result{outcome: verdict.Violated, remedies: []judge.Remedy{{Why: cut + ": let it finish"}, {Why: late + ": let it sleep longer"}}},
			"not cured by no-prestop: app/rollout-fixed",
		},
		"no known cause": {result{outcome: verdict.Violated}, "not cured by no-prestop: app/rollout-fixed"},
		"unknown":        {result{outcome: verdict.Unknown, remedies: []judge.Remedy{{Why: cut}}}, "not cured by no-prestop: app/rollout-fixed"},
		"interrupted":    {result{interrupted: true}, "not cured by no-prestop: app/rollout-fixed"},
	} {
		if got := cured(broken, test.again, "no-prestop", "app/rollout-fixed"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
