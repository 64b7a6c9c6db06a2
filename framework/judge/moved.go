package judge

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// moved turns a violation into Unknown if a node with a pod of the workload was lost without a fault, on a machine that lacked
// processor time: the loss may have moved the pods.
func moved(f *evidence.Run, p invariant.Invariant, v verdict.Verdict) verdict.Verdict {
	if v.Outcome != verdict.Violated || !p.Needs().MovedByNodeLoss {
		return v
	}
	to := v.At
	if to == 0 {
		to = f.End()
	}
	loss := f.UnexplainedLoss("", f.Begin(), to, f.HadWorkloadPod)
	if loss == nil {
		return v
	}
	if loss.Starved.Busy {
		v.Measure(evidence.BusyNumber, 1)
	}
	return v.Unknown(verdict.Missing{fmt.Sprintf("%s was lost at %s without a fault, on a machine without enough processor time (%s); otherwise the verdict would be Violated: %s",
		loss.Name, prose.Moment(loss.At), loss.Starved.Words, v.Seen)})
}
