package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

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
	r.settings.Progress.More()
	again := r.one(ctx, fixed)
	r.settings.Progress.Note(fmt.Sprintf("  %s (%s)", broken.tried().Cured(again.tried(), strings.Join(rules, ", ")), fixed.Name))
}

// tried is what came of a scenario, to be compared with another run of it.
func (r result) tried() judge.Tried {
	return judge.Tried{Outcome: r.outcome, Verdicts: r.verdicts, Remedies: r.remedies}
}

// withFixes is the same scenario of the application with the fixes of some remedies.
func withFixes(s scenario.Spec, remedies []judge.Remedy) (fixed scenario.Spec, rules []string, err error) {
	steps, rules := judge.Fixes(remedies)
	fixed, err = s.Fixed(steps)
	if err != nil {
		return s, nil, err
	}
	fixed.Name += judge.FixedSuffix
	fixed.Claim = "with " + strings.Join(rules, ", ") + " mended, " + s.Claim
	return fixed, rules, nil
}

// further runs the scenarios that are made of a judged one and of what the audit found in its workload.
func (r *runner) further(ctx context.Context, s scenario.Spec, found result) {
	if r.settings.Further == nil || found.outcome == "" || found.err != nil {
		return
	}
	more, err := r.settings.Further(s, found.outcome, found.findings)
	if err != nil {
		r.settings.Progress.Note("  " + err.Error())
		return
	}
	for range more {
		r.settings.Progress.More()
	}
	for _, one := range more {
		if ctx.Err() != nil || r.stop != nil {
			return
		}
		r.one(ctx, one)
	}
}
