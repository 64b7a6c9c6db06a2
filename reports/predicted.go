package reports

import "github.com/holdfast-ha/holdfast/framework/judge/verdict"

// Predicted are the failed requests that a promise allows, such as those to a node until the cluster must have noticed that it is lost.
// They are 0 unless that promise held. No failure of a scenario that did not hold, or of a mutant, is predicted.
func (s *Scenario) Predicted() (n uint64) {
	if s.Result != Held {
		return 0
	}
	for i := range s.Verdicts {
		v := &s.Verdicts[i]
		// Such a promise limits the failures outside of what it allows, and not all failures.
		if _, allows := v.Limits[FailedOutside]; allows && v.Outcome == verdict.Held {
			n = max(n, uint64(v.Numbers["failed"]))
		}
	}
	return min(n, s.Failed())
}

// FailedOutside is the number of a verdict that counts the failures that its promise does not allow.
const FailedOutside = "failedOutside"
