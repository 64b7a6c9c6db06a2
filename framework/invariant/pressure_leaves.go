package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// kubeletReason is the DisruptionTarget reason of a pod that its kubelet evicted because the node was under pressure.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const kubeletReason = "TerminationByKubelet"

// PressureLeaves promises that a kubelet whose node is under pressure, and which asks no budget, leaves so many pods of a
// workload ready: from the first that it evicts until the first undo begins, there are never fewer.
//
// What keeps the promise is not a budget but where the pods are, and how soon those that go are replaced elsewhere.
//
// Evidence: a pod of the workload that was evicted by its kubelet; with DespiteBudget, one whose budget allowed no
// disruption at that time.
type PressureLeaves struct {
	AtLeast int `json:"atLeast"`
	// DespiteBudget demands the evidence that a budget would have refused one of the evictions.
	DespiteBudget bool `json:"despiteBudget,omitempty"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p PressureLeaves) String() string {
	who := p.Workload
	if who == "" {
		who = "the workload"
	}
	text := fmt.Sprintf("node pressure leaves at least %s of %s", count(p.AtLeast, "ready pod"), who)
	if p.DespiteBudget {
		text += ", be it that the kubelet evicts what a budget would not let go"
	}
	return text
}

func (p PressureLeaves) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true), missing)
	if len(missing) > 0 {
		return Verdict{}.unknown(d)
	}
	squeezed := followPressure(f, key)
	switch {
	case len(squeezed.evicted) == 0:
		d.add("no pod of %s was evicted by its kubelet while the faults were in force", key.Name)
		return Verdict{}.unknown(d)
	case p.DespiteBudget && squeezed.despite == 0:
		d.add("no pod of %s was evicted by its kubelet at a time when a budget allowed no disruption", key.Name)
	}
	return p.verdict(squeezed, key.Name, d)
}

func (p PressureLeaves) verdict(s squeeze, name string, d doubts) Verdict {
	v := Verdict{}
	v.measure("evictedByKubelet", float64(len(s.evicted)))
	v.measure("evictedDespiteBudget", float64(s.despite))
	v.measure("leastReady", float64(s.least))
	v.support(s.evicted...)
	what := fmt.Sprintf("%s of %s evicted by the kubelet from %s, %d of them while a budget allowed no disruption",
		count(len(s.evicted), "pod"), name, list(s.nodes), s.despite)
	if s.least >= p.AtLeast {
		return v.held(d, "%s; never fewer than %s left", what, count(s.least, "ready pod"))
	}
	if s.blind {
		d.add("%s had %s left only as far as was seen while a watch was blind", name, count(s.least, "ready pod"))
		return v.unknown(d)
	}
	v.At = s.at
	return v.violated(d, "%s; %s left at %s, and %d are promised", what, count(s.least, "ready pod"), moment(s.at), p.AtLeast)
}

// squeeze is what kubelets under pressure did to a workload.
type squeeze struct {
	evicted []string // what became of each pod, in words
	nodes   []string
	despite int // evicted while a budget of theirs allowed no disruption
	least   int // pods that were ready
	at      history.Offset
	blind   bool
}

func followPressure(f *facts, key history.Key) (s squeeze) {
	from, _ := f.faultsOn()
	until, undone := f.firstUndo()
	if !undone {
		until = f.end()
	}
	budgets := demands(f.run, func(history.Key) bool { return true })
	known := make(map[string]bool) // evicted pods, by UID
	moments(f.run, func(at history.Offset, state *history.State) {
		if at < from || at >= until {
			return
		}
		w := state.Workloads[key]
		for _, pod := range state.PodsOf(w.Namespace, w.Selector) {
			if !pod.Ended() || pod.Disruption != kubeletReason || known[pod.UID] {
				continue
			}
			known[pod.UID] = true
			s.evict(pod, at, budgets)
		}
		if len(s.evicted) == 0 {
			return
		}
		if ready := len(state.ReadyPods(w.Namespace, w.Selector)); s.at == 0 || ready < s.least {
			s.least, s.at, s.blind = ready, at, f.blind(at)
		}
	})
	slices.Sort(s.nodes)
	s.nodes = slices.Compact(s.nodes)
	return s
}

func (s *squeeze) evict(pod history.Pod, at history.Offset, budgets []*demand) {
	line := fmt.Sprintf("%s was evicted from %s, and had ended at %s", pod.Name, pod.Node, moment(at))
	for _, b := range budgets {
		if b.key.Namespace == pod.Namespace && len(b.selector) > 0 && history.Selects(b.selector, pod.Labels) &&
			b.blocked(at-watchSkew, at) && !b.open(at-watchSkew, at) {
			s.despite++
			line += ", when " + b.words + " allowed no disruption"
			break
		}
	}
	s.evicted = append(s.evicted, line)
	s.nodes = append(s.nodes, pod.Node)
}
