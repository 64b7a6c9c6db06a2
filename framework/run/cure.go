package run

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// curedSuffix ends the name of a scenario that is run again with its remedies applied.
const curedSuffix = "-fixed"

// cure runs a scenario whose promise was broken again, with its remedies applied to the application, and says whether they cured it. The
// first result stays as it is: the manifests are as they were.
func (r *runner) cure(ctx context.Context, s scenario.Spec, broken result) {
	if !r.settings.Cure || broken.outcome != verdict.Violated || ctx.Err() != nil || r.stopped() != nil {
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
	r.settings.Progress.Note("  " + cured(broken, again, strings.Join(rules, ", "), fixed.Name))
}

// cured says what the fixes of some rules did: cured, or not, or cured of what they are for, where requests still fail for another cause.
func cured(broken, again result, rules, name string) string {
	if again.outcome == verdict.Held {
		return fmt.Sprintf("cured by %s: %s", rules, name)
	}
	var left []string
	for _, r := range again.remedies {
		left = append(left, r.About())
		if slices.ContainsFunc(broken.remedies, func(was judge.Remedy) bool { return len(was.Fix) > 0 && strings.HasPrefix(r.Why, was.Why) }) {
			left = nil
			break
		}
	}
	if again.outcome != verdict.Violated || len(left) == 0 {
		return fmt.Sprintf("not cured by %s: %s", rules, name)
	}
	return fmt.Sprintf("cured by %s of what it is for: %s; what is left has another cause: %s", rules, name, strings.Join(left, "; "))
}

// withFixes is the same scenario of the application with the fixes of some remedies.
func withFixes(s scenario.Spec, remedies []judge.Remedy) (fixed scenario.Spec, rules []string, err error) {
	steps, rules := judge.Fixes(remedies)
	fixed, err = s.Fixed(steps)
	if err != nil {
		return s, nil, err
	}
	fixed.Name += curedSuffix
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
		if ctx.Err() != nil || r.stopped() != nil {
			return
		}
		r.one(ctx, one)
	}
}
