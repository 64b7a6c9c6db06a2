package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/budget"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// DrainCompletes promises that a drain leaves no pod of a workload on its node: none is there when the revert of the drain begins.
//
// Evidence: a fault that cordoned a node, and evictions of the workload's pods on it in the meantime.
type DrainCompletes struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// Unready needs the accepted eviction of an unready pod while the status of a budget allowed no disruption: only the budget's
	// unhealthyPodEvictionPolicy can have allowed it.
	//
	// Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
	Unready bool `json:"unready,omitempty"`
}

func (p DrainCompletes) String() string {
	text := "a drain leaves no pod of " + whose(p.Workload) + " on its node"
	if p.Unready {
		text += ", not even one that is not ready and whose budget allows no disruption"
	}
	return text
}

// Needs implements Invariant.
func (p DrainCompletes) Needs() evidence.Needs {
	return evidence.Needs{
		Since:           evidence.Undisturbed,
		MovedByNodeLoss: true,
		Soon:            true,
		Parts:           []evidence.Part{evidence.PartEvictions, evidence.PartPods, evidence.PartWorkloads},
	}
}

// Judge implements EventInvariant.
func (p DrainCompletes) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	v := verdict.Verdict{}
	var all drained
	for _, fault := range f.Faults {
		if len(fault.Nodes) > 0 && fault.Injecting.OK && fault.Healing.OK {
			all.follow(f, key, fault)
		}
	}
	v.Measure("evicted", float64(len(all.evicted)))
	v.Measure("evictedUnready", float64(len(all.unready)))
	v.Measure("refused", float64(all.refused))
	v.Measure("left", float64(len(all.left)))
	v.AtMost("left", 0)
	v.Support(all.unready...)
	if len(all.left) > 0 {
		v.Support(all.left...)
		v.At = all.at
		return v.Violated(missing, "%s", all.left[0])
	}
	switch {
	case len(all.nodes) == 0:
		missing.Add("no fault that names a node was reverted")
	case len(all.evicted) == 0:
		missing.Add("no eviction of a pod of %s on %s was accepted", key.Name, prose.List(all.nodes))
	case p.Unready && len(all.unready) == 0:
		missing.Add("no unready pod was evicted while a budget allowed no disruption")
	}
	missing = append(missing, all.unclear...)
	return v.Held(missing, "no pod of %s was left on %s: %s evicted, %d of them unready while their budget allowed no disruption",
		key.Name, prose.List(all.nodes), prose.Count(len(all.evicted), "pod"), len(all.unready))
}

// drained is what happened to the pods on drained nodes.
type drained struct {
	nodes, evicted []string
	unready        []string // one line of evidence for each
	refused        int
	left           []string // one sentence for each
	at             history.Offset
	unclear        verdict.Missing
}

// follow takes in one drain.
func (r *drained) follow(f *evidence.Run, key history.Key, fault timeline.FaultLife) {
	at := fault.Healing.At
	r.nodes = append(r.nodes, fault.Nodes...)
	before := f.Record.StateAt(fault.Injecting.At)
	w := before.Workloads[key]
	budgets := budget.Demands(f.Record, func(k history.Key) bool { return k.Namespace == key.Namespace })
	refusals, pods := make(map[string][]string), f.Timeline().Pods
	for _, e := range answers(f.Record, fault.Injecting.At, at) {
		a := e.Answer
		i := slices.IndexFunc(pods, func(l *timeline.Pod) bool {
			return a.Namespace == key.Namespace && l.Namespace == key.Namespace && l.Name == a.Pod &&
				slices.Contains(fault.Nodes, l.Node) && w.Owns(l.Last())
		})
		switch {
		case i < 0: // a pod of another workload
		case !a.Accepted:
			r.refused++
			refusals[a.Pod] = append(refusals[a.Pod], a.Message)
		case !slices.Contains(r.evicted, a.Pod):
			r.evicted = append(r.evicted, a.Pod)
			r.forgiven(pods[i], e.At, budgets)
		}
	}
	if f.Blind(at) {
		r.unclear.Add("which pods were left on %s at %s is unknown: a watch had a gap", prose.List(fault.Nodes), prose.Moment(at))
		return
	}
	gone := f.MayHaveEndedBefore(at)
	for _, pod := range evidence.LivePods(f.Record.StateAt(at), w) {
		switch {
		case !slices.Contains(fault.Nodes, pod.Node):
		case gone[pod.UID]:
			r.unclear.Add("%s had left %s just after %s according to the record, but the harness may have recorded that late", pod.Name, pod.Node, prose.Moment(at))
		default:
			r.at = at
			r.left = append(r.left, leftBehind(pod, at, refusals[pod.Name]))
		}
	}
}

// forgiven records an eviction that only a policy allowed: the pod was unready, and the budget allowed no disruption, in any order
// of the events within WatchSkew.
func (r *drained) forgiven(pod *timeline.Pod, at history.Offset, budgets []*budget.Demand) {
	from, to := at-evidence.WatchSkew, at+evidence.WatchSkew
	for _, b := range budgets {
		if b.Broken != "" || !history.Selects(b.Selector, pod.Labels) || budget.MayBeHealthy(pod, from, to) ||
			b.Open(from, to) || !b.Blocked(from, to) {
			continue
		}
		r.unready = append(r.unready, fmt.Sprintf("%s was unready when its eviction was accepted at %s, and %s allowed no disruption",
			pod.Name, prose.Moment(at), b.Words))
		return
	}
}

func leftBehind(pod history.Pod, at history.Offset, refusals []string) string {
	state := "ready"
	switch {
	case pod.Deleting:
		state = "going"
	case pod.Waiting != "":
		state = pod.Waiting
	case !pod.Ready:
		state = "not ready"
	}
	text := fmt.Sprintf("%s was still on %s at %s, when the drain was reverted (%s)", pod.Name, pod.Node, prose.Moment(at), state)
	if n := len(refusals); n > 0 {
		text += fmt.Sprintf("; its eviction was refused %d times: %s", n, refusals[n-1])
	}
	return text
}
