package invariant

import (
	"fmt"
)

// movedByLosses tells of each kind of promise whether it is about where pods are, or how soon they are somewhere again: a node that
// is lost changes that. A new promise needs a line here, as it does in kinds.
var movedByLosses = map[string]bool{
	"DrainCompletes": true,
	"PerDomain":      true,
	"Placed":         true,
	"RecoversWithin": true,
	"ReplacedWithin": true,
	"Spread":         true,
	"SpreadTogether": true,
	"SpreadTrials":   true,
	"SpreadWithin":   true,

	// What clients saw has rules of its own: see excused.
	"AnswersWithin":     false,
	"FailuresEndWithin": false,
	"NoFailedRequests":  false,
	"QuietWithin":       false,
	"Resumes":           false,
	"SharesLoad":        false,

	// What was decided was decided, and what was not, wherever pods are.
	"APIAnswersWithin": false,
	"AuditMends":       false,
	"BudgetHonoured":   false,
	"DrainBlocked":     false,
	"Placement":        false,
	"PolicyEnforced":   false,
	"PressureLeaves":   false,
	"ResizedInPlace":   false,
}

// moved turns round a violation that a node explains as well which was lost without a fault, on a starved machine, with a pod of the
// workload on it.
func (f *facts) moved(p Invariant, v Verdict) Verdict {
	if v.Outcome != Violated || !movedByLosses[Kind(p)] {
		return v
	}
	to := v.At
	if to == 0 {
		to = f.end()
	}
	loss := f.lostUnasked("", f.begin(), to, f.carried)
	if loss == nil {
		return v
	}
	return v.unknown(doubts{fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved (%s), and else it would be violated: %s",
		loss.Name, moment(loss.At), f.starved(loss), v.Seen)})
}
