package reports

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

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
