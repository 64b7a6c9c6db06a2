package run

import (
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

func TestVerdictWords(t *testing.T) {
	mutant := quiet()
	mutant.Mutant = &history.Mutant{}
	for _, test := range []struct {
		spec    scenario.Spec
		outcome verdict.Outcome
		want    string
	}{
		{quiet(), verdict.Held, "HELD"}, {quiet(), verdict.Violated, "VIOLATED"}, {quiet(), verdict.Unknown, "UNKNOWN"},
		{mutant, verdict.Held, "CAUGHT"}, {mutant, verdict.Violated, "MISSED"}, {mutant, verdict.Unknown, "UNKNOWN"},
	} {
		if got := verdictWord(test.spec, result{outcome: test.outcome}); got != test.want {
			t.Errorf("%s of a mutant=%t: %s, want %s", test.outcome, test.spec.Mutant != nil, got, test.want)
		}
	}
	failed := result{err: errors.New("no engine")}
	if word, why := verdictWord(quiet(), failed), failed.summary(); word != "FAILED" || why != "no engine" {
		t.Errorf("%s: %s", word, why)
	}
}
