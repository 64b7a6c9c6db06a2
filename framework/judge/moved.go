package judge

import (
	"cmp"
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// moved turns a violation into Unknown if a node with a pod of the workload was lost without a fault: the loss may have moved the pods. What a
// lost node does to a placement is known, and so it matters only there if the machine was saturated.
func moved(f *evidence.Run, p invariant.Invariant, v verdict.Verdict) verdict.Verdict {
	if v.Outcome != verdict.Violated || !p.Needs().MovedByNodeLoss {
		return v
	}
	loss, why := f.Moved(cmp.Or(v.At, f.End()), p.Needs().Soon)
	if loss == nil {
		return v
	}
	v.Measure(evidence.BusyNumber, 1)
	return v.Unknown(verdict.Missing{fmt.Sprintf("%s was lost at %s without a fault%s; otherwise the verdict would be Violated: %s",
		loss.Name, prose.Moment(loss.At), why, v.Seen)})
}
