package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/budget"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// kubeletReason is the DisruptionTarget reason of a pod that its kubelet evicted because the node was under pressure.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
const kubeletReason = "TerminationByKubelet"

// PressureLeaves promises that a kubelet whose node is under pressure, and which ignores budgets, leaves a number of pods of a
// workload ready: from its first eviction to the start of the first revert there are never fewer than AtLeast.
//
// The promise depends on where the pods are, and on how soon evicted pods are replaced elsewhere, not on a budget.
//
// Evidence: a pod of the workload that its kubelet evicted; with DespiteBudget, a pod whose budget allowed no disruption at that
// time.
type PressureLeaves struct {
	AtLeast int `json:"atLeast"`
	// DespiteBudget needs an eviction that a budget would have refused.
	DespiteBudget bool `json:"despiteBudget,omitempty"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p PressureLeaves) String() string {
	text := fmt.Sprintf("node pressure leaves at least %s of %s", prose.Count(p.AtLeast, "ready pod"), whose(p.Workload))
	if p.DespiteBudget {
		text += ", even though the kubelet evicts pods that a budget protects"
	}
	return text
}

// Needs implements Invariant.
func (p PressureLeaves) Needs() evidence.Needs {
	needs := evidence.Needs{Since: evidence.Undisturbed, Parts: []evidence.Part{evidence.PartPods, evidence.PartWorkloads}}
	if p.DespiteBudget {
		needs.Parts = append(needs.Parts, evidence.PartBudgets)
	}
	return needs
}

// Judge implements EventInvariant.
func (p PressureLeaves) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	missing = append(missing, ambiguous...)
	if len(ambiguous) > 0 {
		return verdict.Verdict{}.Unknown(missing)
	}
	squeezed := followPressure(f, key)
	switch {
	case len(squeezed.evicted) == 0:
		missing.Add("no pod of %s was evicted by its kubelet while the faults were active", key.Name)
		return verdict.Verdict{}.Unknown(missing)
	case p.DespiteBudget && squeezed.despite == 0:
		missing.Add("no pod of %s was evicted by its kubelet at a time when a budget allowed no disruption", key.Name)
	}
	return p.verdict(squeezed, key.Name, missing)
}

func (p PressureLeaves) verdict(s squeeze, name string, missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	v.Measure("evictedByKubelet", float64(len(s.evicted)))
	v.Measure("evictedDespiteBudget", float64(s.despite))
	v.Measure("leastReady", float64(s.least))
	v.Support(s.evicted...)
	what := fmt.Sprintf("%s of %s evicted by the kubelet from %s, %d of them while a budget allowed no disruption",
		prose.Count(len(s.evicted), "pod"), name, prose.List(s.nodes), s.despite)
	if s.least >= p.AtLeast {
		return v.Held(missing, "%s; never fewer than %s left", what, prose.Count(s.least, "ready pod"))
	}
	if s.blind {
		missing.Add("%s had %s left, but only during a gap of a watch", name, prose.Count(s.least, "ready pod"))
		return v.Unknown(missing)
	}
	v.At = s.at
	return v.Violated(missing, "%s; %s left at %s, and at least %d are promised", what, prose.Count(s.least, "ready pod"), prose.Moment(s.at), p.AtLeast)
}

// squeeze is what kubelets under pressure did to a workload.
type squeeze struct {
	evicted []string // a description for each pod
	nodes   []string
	despite int // evicted while their budget allowed no disruption
	least   int // smallest number of ready pods
	at      history.Offset
	blind   bool
}

func followPressure(f *evidence.Run, key history.Key) (s squeeze) {
	from, _ := f.FaultsOn()
	until, undone := f.FirstRevert()
	if !undone {
		until = f.End()
	}
	budgets := budget.Demands(f.Record, func(history.Key) bool { return true })
	known := make(map[string]bool) // evicted pods, by UID
	evidence.Moments(f.Record, func(at history.Offset, state *history.State) {
		if at < from || at >= until {
			return
		}
		w := state.Workloads[key]
		for _, pod := range state.PodsOf(w.Pods()) {
			if !pod.Ended() || pod.Disruption != kubeletReason || known[pod.UID] {
				continue
			}
			known[pod.UID] = true
			s.evict(pod, at, budgets)
		}
		if len(s.evicted) == 0 {
			return
		}
		if ready := len(state.ReadyPods(w.Pods())); s.at == 0 || ready < s.least {
			s.least, s.at, s.blind = ready, at, f.Blind(at)
		}
	})
	slices.Sort(s.nodes)
	s.nodes = slices.Compact(s.nodes)
	return s
}

func (s *squeeze) evict(pod history.Pod, at history.Offset, budgets []*budget.Demand) {
	line := fmt.Sprintf("%s was evicted from %s, and had ended at %s", pod.Name, pod.Node, prose.Moment(at))
	for _, b := range budgets {
		if b.Key.Namespace == pod.Namespace && len(b.Selector) > 0 && history.Selects(b.Selector, pod.Labels) &&
			b.Blocked(at-evidence.WatchSkew, at) && !b.Open(at-evidence.WatchSkew, at) {
			s.despite++
			line += ", when " + b.Words + " allowed no disruption"
			break
		}
	}
	s.evicted = append(s.evicted, line)
	s.nodes = append(s.nodes, pod.Node)
}
