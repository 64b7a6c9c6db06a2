package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Placed promises that while the faults are active, exactly Pending pods of a workload have no node because they are unschedulable;
// 0: every pod has a node. It is judged when the first revert begins: the faults were active for a while, and pending pods stay
// pending.
//
// Evidence: the workload has as many pods as wanted, or up to Surge more, and the scheduler has tried each pod without a node. A
// terminating pod on a lost node does not count: its kubelet cannot end it, and its replacement exists already.
type Placed struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	Pending  int    `json:"pending,omitempty"`
	// Surge is how many more pods than wanted the workload may have, because an update creates them first.
	Surge int `json:"surge,omitempty"`
}

func (p Placed) String() string {
	who := whose(p.Workload)
	if p.Surge > 0 {
		who = fmt.Sprintf("%s (a surge of up to %d included)", who, p.Surge)
	}
	if p.Pending == 0 {
		return fmt.Sprintf("every pod of %s has a node while the faults are active", who)
	}
	return fmt.Sprintf("%s of %s, no more and no fewer, have no node while the faults are active", prose.Count(p.Pending, "pod"), who)
}

// Needs implements Invariant.
func (p Placed) Needs() evidence.Needs {
	return evidence.Needs{MovedByNodeLoss: true, Parts: []evidence.Part{evidence.PartPods, evidence.PartWorkloads}}
}

// AboutPlacement implements PlacementInvariant.
func (p Placed) AboutPlacement() {}

// Judge implements EventInvariant.
func (p Placed) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	at, ok := f.FirstRevert()
	if !ok || len(ambiguous) > 0 { // without a revert, which FaultsActive reports
		return verdict.Verdict{}.Unknown(missing)
	}
	s := f.Record.StateAt(at)
	w := s.Workloads[key]
	pods := slices.DeleteFunc(evidence.LivePods(s, w), func(pod history.Pod) bool { return stranded(s, pod) })
	pending, untried, why := unplaced(pods)
	v := verdict.Verdict{}
	v.Measure("pods", float64(len(pods)))
	v.Measure("pendingPods", float64(len(pending)))
	v.Measure("promisedPendingPods", float64(p.Pending))
	v.Support(why...)
	switch {
	case f.Blind(at):
		missing.Add("which pods were pending at %s is unknown: a watch had a gap", prose.Moment(at))
	case len(pods) < w.Replicas || len(pods) > w.Replicas+p.Surge:
		missing.Add("%s had %s at %s, and %d were wanted%s", key.Name, prose.Count(len(pods), "pod"), prose.Moment(at), w.Replicas, p.surge())
	case len(untried) > 0:
		missing.Add("the scheduler had not tried %s by %s", untried[0], prose.Moment(at))
	case len(pending) != p.Pending:
		v.At = at
		return v.Violated(missing, "%d of %s of %s had no node at %s, and %d were expected%s",
			len(pending), prose.Count(len(pods), "pod"), key.Name, prose.Moment(at), p.Pending, because(why))
	}
	return v.Held(missing, "%d of %s of %s had no node at %s%s", len(pending), prose.Count(len(pods), "pod"), key.Name, prose.Moment(at), because(why))
}

// surge describes how many additional pods are allowed.
func (p Placed) surge() string {
	if p.Surge == 0 {
		return ""
	}
	return fmt.Sprintf(", or up to %d more for an update", p.Surge)
}

// stranded says whether a pod is terminating on a lost node.
func stranded(s *history.State, pod history.Pod) bool {
	node, known := s.Nodes[pod.Node]
	return pod.Deleting && known && node.Ready != "True"
}

// unplaced names the pods without a node, those that the scheduler has not tried, and its reasons, each once.
func unplaced(pods []history.Pod) (pending, untried, why []string) {
	for _, pod := range pods {
		switch {
		case pod.Node != "":
		case pod.Unschedulable == "":
			untried = append(untried, pod.Name)
		default:
			pending = append(pending, pod.Name)
			if !slices.Contains(why, pod.Unschedulable) {
				why = append(why, pod.Unschedulable)
			}
		}
	}
	return pending, untried, why
}

func because(why []string) string {
	if len(why) == 0 {
		return ""
	}
	return ": " + why[0]
}
