package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// FixedSuffix ends the name of a scenario that is run again with its remedies applied.
const FixedSuffix = "-fixed"

// Tried is what came of a scenario, without or with its remedies applied.
type Tried struct {
	Outcome  verdict.Outcome // empty: it was not judged
	Verdicts []verdict.Verdict
	Remedies []Remedy
}

// failed are the failed requests of the verdict that saw most of them, and all requests; unknown: no verdict counts any.
func (t Tried) failed() (failed, all uint64, known bool) {
	for _, v := range t.Verdicts {
		if n, counts := v.Numbers["failed"]; counts && (!known || uint64(n) > failed) {
			failed, all, known = uint64(n), uint64(v.Numbers["requests"]), true
		}
	}
	return failed, all, known
}

// Cured says what the fixes of some rules did, with how many requests failed without and with them: cured, or not, or worse, or cured of
// what they are for, where requests still fail for another cause.
func (t Tried) Cured(again Tried, rules string) string {
	left := again.other(t)
	few, _, _ := t.failed()
	switch {
	case again.Outcome == verdict.Held && few > 0 && few <= FewFailed:
		return "it is not known whether " + rules + " cures it, because so few requests fail by chance, too" + t.numbers(again)
	case again.Outcome == verdict.Held:
		return "cured by " + rules + ", as far as one run shows" + t.numbers(again)
	case again.Outcome != verdict.Violated:
		return "it is not known whether " + rules + " cures it, because it could not be judged again"
	case t.worse(again):
		return "made worse by " + rules + t.numbers(again)
	case len(left) == 0:
		return "not cured by " + rules + t.numbers(again)
	}
	return fmt.Sprintf("cured by %s of what it is for%s; what is left has another cause: %s", rules, t.numbers(again), strings.Join(left, "; "))
}

// other are the remedies of what still breaks a promise; none: the cause is the same, or not known.
func (t Tried) other(before Tried) (left []string) {
	for _, r := range t.Remedies {
		if slices.ContainsFunc(before.Remedies, func(was Remedy) bool { return len(was.Fix) > 0 && strings.HasPrefix(r.Why, was.Why) }) {
			return nil
		}
		left = append(left, r.About())
	}
	return left
}

// FewFailed is how many failed requests show nothing when they are compared with another run: one on a kept connection is lost by chance now
// and then. An nginx without its readiness probe lost 1 of 2,653, and with it none.
const FewFailed = 5

// muchWorse is how many more requests must fail, beside twice as many, before a fix made it worse: how many fail differs from run to run.
const muchWorse = 20

func (t Tried) worse(again Tried) bool {
	before, _, _ := t.failed()
	after, _, known := again.failed()
	return known && after > 2*before && after >= before+muchWorse
}

// numbers says how many requests failed with and without the fixes; empty: no promise counts them, or none failed either way.
func (t Tried) numbers(again Tried) string {
	before, sent, known := t.failed()
	after, all, counted := again.failed()
	if !known || !counted || before+after == 0 {
		return ""
	}
	return fmt.Sprintf(": %d of %s failed, and without it %d of %d", after, prose.Count(all, "request"), before, sent)
}

// Prove says of the remedies of a scenario what came of it when it was run again with their fixes.
func (t Tried) Prove(again Tried) (proven []Remedy) {
	_, rules := Fixes(t.Remedies)
	if len(rules) == 0 {
		return t.Remedies
	}
	proof := t.Cured(again, strings.Join(rules, ", "))
	for _, r := range t.Remedies {
		if len(r.Fix) > 0 {
			r.Proof = proof
		}
		proven = append(proven, r)
	}
	return proven
}
