package run

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// curedSuffix ends the name of a scenario that is run again with its remedies applied.
const curedSuffix = "-fixed"

// cure runs a scenario whose promise was broken again, with its remedies applied to the application, and says whether they cured it. The
// first result stays as it is: the manifests are as they were.
func (r *runner) cure(ctx context.Context, s scenario.Spec, broken result) {
	if !r.settings.Cure || broken.outcome != verdict.Violated || ctx.Err() != nil || r.stop != nil {
		return
	}
	fixed, rules, err := withFixes(s, broken.remedies)
	if err != nil {
		r.settings.Progress.Note("  the remedies cannot be applied: " + err.Error())
		return
	}
	if len(rules) == 0 {
		r.settings.Progress.Note("  no patch is known that takes the cause away")
		return
	}
	r.settings.Progress.more()
	again := r.one(ctx, fixed)
	word := "not cured"
	if again.outcome == verdict.Held {
		word = "cured"
	}
	r.settings.Progress.Note(fmt.Sprintf("  %s by %s: %s", word, strings.Join(rules, ", "), fixed.Name))
}

// withFixes is the same scenario of the application with the fixes of some remedies.
func withFixes(s scenario.Spec, remedies []judge.Remedy) (fixed scenario.Spec, rules []string, err error) {
	steps, rules := judge.Fixes(remedies)
	for _, raw := range steps {
		var step audit.Step
		if err := json.Unmarshal(raw, &step); err != nil {
			return s, nil, err
		}
		s.Fix = append(s.Fix, step)
	}
	s.Lot = s.Name
	s.Name += curedSuffix
	s.Claim = "with " + strings.Join(rules, ", ") + " mended, " + s.Claim
	return s, rules, nil
}
