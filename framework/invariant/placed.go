package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Placed promises that while the faults are in force, exactly Pending pods of a workload have no node, because the
// scheduler found none that their rules allow; 0: every pod has one. It is judged at the moment at which the first undo
// begins: by then the faults have been held, and what is pending stays so.
//
// Evidence: the workload has as many pods as it was asked for, or up to Surge more, and the scheduler has tried each that has no node. A pod that
// is going and whose node is lost does not count: nobody there can end it, and its replacement is there already.
type Placed struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	Pending  int    `json:"pending,omitempty"`
	// Surge is how many pods more than it was asked for the workload may have: those that an update makes beforehand.
	Surge int `json:"surge,omitempty"`
}

func (p Placed) String() string {
	who := p.Workload
	if who == "" {
		who = "the workload"
	}
	if p.Surge > 0 {
		who = fmt.Sprintf("%s, which may have %d more than it was asked for", who, p.Surge)
	}
	if p.Pending == 0 {
		return fmt.Sprintf("every pod of %s has a node while the faults are in force", who)
	}
	return fmt.Sprintf("%s of %s, no more and no fewer, find no node while the faults are in force", count(p.Pending, "pod"), who)
}

func (p Placed) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.begin()), f.faultsBit(true), missing)
	at, ok := f.firstUndo()
	if !ok || len(missing) > 0 { // without an undo, faultsBit has said why
		return Verdict{}.unknown(d)
	}
	s := f.run.StateAt(at)
	w := s.Workloads[key]
	pods := slices.DeleteFunc(livePods(s, w), func(pod history.Pod) bool { return stranded(s, pod) })
	pending, untried, why := unplaced(pods)
	v := Verdict{}
	v.measure("pods", float64(len(pods)))
	v.measure("pendingPods", float64(len(pending)))
	v.measure("promisedPendingPods", float64(p.Pending))
	v.support(why...)
	switch {
	case f.blind(at):
		d.add("what was pending at %s is not known: a watch was blind", moment(at))
	case len(pods) < w.Replicas || len(pods) > w.Replicas+p.Surge:
		d.add("%s had %s at %s, and %d were asked for%s", key.Name, count(len(pods), "pod"), moment(at), w.Replicas, p.surge())
	case len(untried) > 0:
		d.add("the scheduler had said nothing of %s by %s", untried[0], moment(at))
	case len(pending) != p.Pending:
		v.At = at
		return v.violated(d, "%d of %s of %s had no node at %s, and %d were expected%s",
			len(pending), count(len(pods), "pod"), key.Name, moment(at), p.Pending, because(why))
	}
	return v.held(d, "%d of %s of %s had no node at %s%s", len(pending), count(len(pods), "pod"), key.Name, moment(at), because(why))
}

// surge says how many pods may be there beside those that were asked for.
func (p Placed) surge() string {
	if p.Surge == 0 {
		return ""
	}
	return fmt.Sprintf(", or up to %d more for an update", p.Surge)
}

// stranded tells whether a pod is to end on a node that is lost.
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
