package judge

import (
	"fmt"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
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
func moved(f *evidence.Run, p invariant.Invariant, v verdict.Verdict) verdict.Verdict {
	if v.Outcome != verdict.Violated || !movedByLosses[invariant.Kind(p)] {
		return v
	}
	to := v.At
	if to == 0 {
		to = f.End()
	}
	loss := f.LostUnasked("", f.Begin(), to, f.Carried)
	if loss == nil {
		return v
	}
	return v.Unknown(verdict.Missing{fmt.Sprintf("%s was lost at %s without a fault, on a machine that was starved (%s), and else it would be violated: %s",
		loss.Name, prose.Moment(loss.At), f.Starved(loss), v.Seen)})
}
