package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// DrainCompletes promises that a drain leaves no pod of a workload on its node: none is there at the moment at which the
// undo of the drain begins.
//
// Evidence: a fault that closed a node, and evictions of the workload's pods on it that were asked for meanwhile.
type DrainCompletes struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// Unready demands the evidence of an eviction, of a pod that was not ready, that was accepted at a time when the status
	// of a budget allowed no disruption: nothing but its unhealthyPodEvictionPolicy let that pass.
	//
	// Source: https://kubernetes.io/docs/tasks/run-application/configure-pdb/#unhealthy-pod-eviction-policy
	Unready bool `json:"unready,omitempty"`
}

func (p DrainCompletes) String() string {
	who := p.Workload
	if who == "" {
		who = "the workload"
	}
	text := "a drain leaves no pod of " + who + " on its node"
	if p.Unready {
		text += ", not even one that is not ready and whose budget allows no disruption"
	}
	return text
}

func (p DrainCompletes) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true), missing)
	if len(missing) > 0 {
		return Verdict{}.unknown(d)
	}
	v := Verdict{}
	var all drained
	for _, fault := range f.faults {
		if len(fault.Nodes) > 0 && fault.Injecting.OK && fault.Healing.OK {
			all.follow(f, key, fault)
		}
	}
	v.measure("evicted", float64(len(all.evicted)))
	v.measure("evictedUnready", float64(len(all.unready)))
	v.measure("refused", float64(all.refused))
	v.measure("left", float64(len(all.left)))
	v.support(all.unready...)
	if len(all.left) > 0 {
		v.support(all.left...)
		v.At = all.at
		return v.violated(d, "%s", all.left[0])
	}
	switch {
	case len(all.nodes) == 0:
		d.add("no fault with a node was undone")
	case len(all.evicted) == 0:
		d.add("no eviction of a pod of %s on %s was accepted", key.Name, list(all.nodes))
	case p.Unready && len(all.unready) == 0:
		d.add("no pod that was not ready was evicted when a budget allowed no disruption")
	}
	d = append(d, all.unclear...)
	return v.held(d, "no pod of %s was left on %s: %s evicted, %d of them not ready when their budget allowed no disruption",
		key.Name, list(all.nodes), count(len(all.evicted), "pod"), len(all.unready))
}

// drained is what became of the pods on nodes that were drained.
type drained struct {
	nodes, evicted []string
	unready        []string // a line of evidence each
	refused        int
	left           []string // a sentence each
	at             history.Offset
	unclear        doubts
}

// follow takes in one drain.
func (r *drained) follow(f *facts, key history.Key, fault history.FaultLife) {
	at := fault.Healing.At
	r.nodes = append(r.nodes, fault.Nodes...)
	before := f.run.StateAt(fault.Injecting.At)
	w := before.Workloads[key]
	budgets := demands(f.run, func(k history.Key) bool { return k.Namespace == key.Namespace })
	refusals, lives := make(map[string][]string), followPods(f.run)
	for _, e := range answers(f.run, fault.Injecting.At, at) {
		a := e.answer
		i := slices.IndexFunc(lives, func(l *podLife) bool {
			return a.Namespace == key.Namespace && l.Namespace == key.Namespace && l.Name == a.Pod &&
				slices.Contains(fault.Nodes, l.Node) && history.Selects(w.Selector, l.Labels)
		})
		switch {
		case i < 0: // another workload's
		case !a.Accepted:
			r.refused++
			refusals[a.Pod] = append(refusals[a.Pod], a.Message)
		case !slices.Contains(r.evicted, a.Pod):
			r.evicted = append(r.evicted, a.Pod)
			r.forgiven(lives[i], e.at, budgets)
		}
	}
	if f.blind(at) {
		r.unclear.add("what was left on %s at %s is not known: a watch was blind", list(fault.Nodes), moment(at))
		return
	}
	gone := f.toldGone(at)
	for _, pod := range livePods(f.run.StateAt(at), w) {
		switch {
		case !slices.Contains(fault.Nodes, pod.Node):
		case gone[pod.UID]:
			r.unclear.add("%s had left %s just after %s, as far as was told: the harness may have dated that late", pod.Name, pod.Node, moment(at))
		default:
			r.at = at
			r.left = append(r.left, leftBehind(pod, at, refusals[pod.Name]))
		}
	}
}

// forgiven notes an eviction that only a policy let pass: the pod was not ready, and the budget allowed no disruption, in
// whatever order it all happened within the skew.
func (r *drained) forgiven(pod *podLife, at history.Offset, budgets []*demand) {
	from, to := at-watchSkew, at+watchSkew
	for _, b := range budgets {
		if b.broken != "" || !history.Selects(b.selector, pod.Labels) || pod.mayBeHealthy(from, to) ||
			b.open(from, to) || !b.blocked(from, to) {
			continue
		}
		r.unready = append(r.unready, fmt.Sprintf("%s was not ready when its eviction was accepted at %s, and %s allowed no disruption",
			pod.Name, moment(at), b.words))
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
	text := fmt.Sprintf("%s was still on %s at %s, when the drain was undone (%s)", pod.Name, pod.Node, moment(at), state)
	if n := len(refusals); n > 0 {
		text += fmt.Sprintf("; its eviction was refused %d times: %s", n, refusals[n-1])
	}
	return text
}
