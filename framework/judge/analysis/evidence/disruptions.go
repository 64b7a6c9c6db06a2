package evidence

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Disruptions count what the faults of a run did to a workload: pods that began to terminate, restarted or were resized, and nodes
// that stopped being ready. The counts come from the watches, not from the faults. A network that loses packets and a component that
// is gone are invisible to watches, so they come from what a fault's witness counted.
//
// Only the effects of a fault count: on the pods and nodes that it names, from its application to the start of its revert. A replica
// that the harness itself adds in the meantime, and what a revert changes, are no disruptions. Pods count that a recorded workload owns, and
// those of others that a Service offered: those of a Job meet no client.
type Disruptions struct {
	Terminations, Losses int // of pods, of nodes
	restarts             int
	resizes              int
	additions            int // new pods, of faults that end none
	impaired             int // impaired networks: probes of the fault's witness were hit
	changed              int // pods with a changed file, as the fault's witness counted
	processes            int // processes of components that were gone, as the fault's witness counted
	Refusals             int // refused evictions, where they count as evidence
}

// Disruptions counts what the faults did.
func (f *Run) Disruptions() (n Disruptions) {
	if _, ok := f.Phases[history.Disturbed]; !ok {
		return n
	}
	workloads := f.Workloads()
	for _, pod := range f.Timeline().Pods {
		if !serves(workloads, pod) {
			continue
		}
		if began := pod.EndBegan(); began != timeline.Never && f.took(pod.Name, pod.Node, began) {
			n.Terminations++
		}
		f.changes(pod, &n)
	}
	for _, loss := range f.Timeline().NodeLosses(0, Never) {
		if f.tookNode(loss.Name, loss.At) {
			n.Losses++
		}
	}
	n.additions = f.additions(workloads)
	for _, fault := range f.Faults {
		if fault.Seen.OK {
			n.processes += fault.Processes
		}
		switch {
		case !fault.Seen.OK || fault.Hit == 0:
		case len(fault.Nodes) == 0: // it is the pods that were looked at
			n.changed += fault.Hit
		default:
			n.impaired++
		}
	}
	return n
}

// changes counts the restarts and the resizes of a pod.
func (f *Run) changes(pod *timeline.Pod, n *Disruptions) {
	restarts, cpu := 0, ""
	for _, report := range pod.Reports {
		p := report.Value
		if p.Ended() {
			continue // a kubelet that restarts adds one restart to a pod that it has evicted
		}
		hit := f.took(p.Name, p.Node, report.At)
		if more := p.Restarts - restarts; more > 0 && hit {
			n.restarts += more
		}
		if cpu != "" && p.CPU != "" && p.CPU != cpu && hit {
			n.resizes++
		}
		restarts, cpu = p.Restarts, cmp.Or(p.CPU, cpu) // a container that restarts reports no CPU for a moment
	}
}

// serves says whether clients may meet a pod: one of the workloads owns it, or a Service offered it.
func serves(workloads []history.Workload, pod *timeline.Pod) bool {
	return owned(workloads, pod.Last()) || owned(workloads, pod.Reports[0].Value) || pod.Offered.OK
}

// atWork says whether a moment in phase Disturbed lies between the application of a fault and the start of its revert.
func (f *Run) atWork(fault *timeline.FaultLife, at history.Offset) bool {
	disturbed, undone := f.Phases[history.Disturbed], Never
	if fault.Healing.OK {
		undone = fault.Healing.At
	}
	return fault.Injecting.OK && at >= max(disturbed.From, fault.Injecting.At) && at < min(disturbed.To, undone)
}

// took says whether a fault that was active at a moment affected a pod or its node.
func (f *Run) took(pod, node string, at history.Offset) bool {
	return slices.ContainsFunc(f.Faults, func(fault timeline.FaultLife) bool {
		return f.atWork(&fault, at) && (slices.Contains(fault.Pods, pod) || slices.Contains(fault.Nodes, node))
	})
}

// tookNode says whether a fault that was active at a moment affected a node or had a step on it. An upgrade takes the nodes one by
// one and names none of them.
func (f *Run) tookNode(node string, at history.Offset) bool {
	return slices.ContainsFunc(f.Faults, func(fault timeline.FaultLife) bool {
		return f.atWork(&fault, at) && (slices.Contains(fault.Nodes, node) || f.stepped(&fault, node))
	})
}

// stepped says whether a fault had a step on a node.
func (f *Run) stepped(fault *timeline.FaultLife, node string) bool {
	return slices.ContainsFunc(f.Record.Events, func(e history.Event) bool {
		return e.Step != nil && e.Step.Node == node && f.atWork(fault, e.T)
	})
}

// additions counts the pods that a fault which ends none created while it was applied, for example by scaling up. If a pod terminated
// in the meantime, a new pod may only replace it. The harness itself may have asked for pods that come after the fault was seen.
func (f *Run) additions(workloads []history.Workload) (n int) {
	known := make(map[string]bool) // by UID
	came := make([]int, len(f.Faults))
	for _, e := range f.Record.Events {
		p := e.Pod
		if p == nil || known[p.UID] || p.Change == history.Deleted || !owned(workloads, p) {
			continue
		}
		known[p.UID] = true
		for i, fault := range f.Faults {
			if len(fault.Nodes)+len(fault.Pods) == 0 && f.atWork(&fault, e.T) && e.T < fault.Seen.At {
				came[i]++
			}
		}
	}
	for i, fault := range f.Faults {
		if came[i] == 0 || slices.ContainsFunc(f.Timeline().Terminations(fault.Injecting.At, fault.Seen.At), func(end *timeline.Pod) bool {
			return serves(workloads, end)
		}) {
			continue
		}
		n += came[i]
	}
	return n
}

// Workloads are all workloads in the record, one that had several selectors once for each.
func (f *Run) Workloads() (list []history.Workload) {
	for _, e := range f.Record.Events {
		w := e.Workload
		if w == nil {
			continue
		}
		same := func(had history.Workload) bool {
			return had.Namespace == w.Namespace && had.Name == w.Name && had.Kind() == w.Kind() && maps.Equal(had.Selector, w.Selector)
		}
		if !slices.ContainsFunc(list, same) {
			list = append(list, *w)
		}
	}
	return list
}

func owned(workloads []history.Workload, p *history.Pod) bool {
	return slices.ContainsFunc(workloads, func(w history.Workload) bool { return w.Owns(p) })
}

// Refusals counts the evictions that budgets refused while the run was disturbed.
func (f *Run) Refusals() (n int) {
	p := f.Phases[history.Disturbed]
	for _, e := range f.Record.Events {
		if e.Eviction != nil && !e.Eviction.Accepted && e.Eviction.Budget != "" && e.T >= p.From && e.T < p.To {
			n++
		}
	}
	return n
}

// Disrupted reports a run whose faults took effect without any disruption in the record. FaultsActive reports faults without effect.
func (f *Run) Disrupted(n Disruptions) (d verdict.Missing) {
	bit := slices.ContainsFunc(f.Faults, func(fault timeline.FaultLife) bool { return fault.Injecting.OK && fault.Seen.OK })
	if bit && n == (Disruptions{}) {
		d.Add("nothing was disrupted: no fault ended a pod or took a node before its revert began")
	}
	return d
}

// disruption is one kind of them, with its count, the name of its figure, and its words.
type disruption struct {
	n           int
	number      string
	what, which string
}

// each are all kinds, in the order in which they are told.
func (n Disruptions) each() []disruption {
	return []disruption{
		{n.Terminations, "podTerminations", "pod termination", ""},
		{n.restarts, "podRestarts", "pod restart", ""},
		{n.resizes, "podResizes", "pod resize", ""},
		{n.Losses, "nodeLosses", "node loss", ""},
		{n.additions, "podAdditions", "pod addition", ""},
		{n.processes, "processesGone", "process", " of a component gone"},
		{n.impaired, "impairedNetworks", "impaired network", ""},
		{n.changed, "podsWithAChangedConfiguration", "pod", " with a changed configuration"},
		{n.Refusals, "refusedEvictions", "refused eviction", ""},
	}
}

func (n Disruptions) String() string {
	var words []string
	for _, d := range n.each() {
		if d.n > 0 || slices.Contains([]string{"podTerminations", "nodeLosses"}, d.number) {
			words = append(words, prose.Count(d.n, d.what)+d.which)
		}
	}
	return prose.List(words)
}

// Numbers adds the counts to the figures of a verdict.
func (n Disruptions) Numbers(v *verdict.Verdict) {
	for _, d := range n.each() {
		if d.n > 0 || slices.Contains([]string{"podTerminations", "podRestarts", "nodeLosses"}, d.number) {
			v.Measure(d.number, float64(d.n))
		}
	}
}
