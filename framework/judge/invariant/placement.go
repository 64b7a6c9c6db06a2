package invariant

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/placement"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Placement promises that each binding was legal when it was made, under the scheduler's own hard rules: topology spread
// constraints with DoNotSchedule, including minDomains, matchLabelKeys, nodeAffinityPolicy and nodeTaintsPolicy; required pod
// affinity and anti-affinity, also those of other pods; node selector, required node affinity, taints and cordons. For a spread,
// eligible domains without pods count, and terminating pods do not. Soft rules, resources, ports, volumes and pods of other
// namespaces are ignored.
//
// The promise is about the moment of binding; Spread is about what becomes of it. A pod that was created with a node in its spec is
// judged as if it had been bound when it was first seen.
//
// The scheduler decides by its own cache, and does not wait until its decisions are written, so it may or may not have known of
// changes that were recorded within WatchSkew of a binding. A binding is illegal only if it is illegal in each such case, for each
// rule by itself. Of pods that were bound close together and whose rules are about each other, one is illegal only if no order of
// the decisions makes all of them legal. If the search for such an order ends without a result, there is no verdict.
//
// Evidence: a binding under rules about other pods, after Deploy began; and the rules of every pod.
type Placement struct {
	// Workload is the Deployment whose pods are judged; empty means all Deployments in the record.
	Workload string `json:"workload,omitempty"`
}

func (p Placement) String() string {
	return fmt.Sprintf("each pod of %s is bound where the scheduler's hard rules allowed it at that moment", cmp.Or(p.Workload, "every Deployment"))
}

// Needs implements Invariant.
func (p Placement) Needs() evidence.Needs {
	return evidence.Needs{
		Watches: evidence.Ordered,
		Parts:   []evidence.Part{evidence.PartPods, evidence.PartNodes, evidence.PartWorkloads, evidence.PartRules},
	}
}

// AboutPlacement implements PlacementInvariant.
func (p Placement) AboutPlacement() {}

// Judge implements EventInvariant.
func (p Placement) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	keys, ambiguous := p.workloads(f.Record)
	if f.Record.Header.Recorded != nil && len(keys) == 0 && len(missing) == 0 {
		return verdict.Verdict{}.NotTested("no pod of a Deployment or StatefulSet was disturbed")
	}
	missing = append(missing, ambiguous...)
	l := placement.NewLedger(f.Record)
	missing = append(missing, l.Missing()...)
	t := placementTally{
		facts: f, who: cmp.Or(p.Workload, "all Deployments"), told: make(map[*placement.PlacedPod]string), free: make(map[*placement.PlacedPod]bool),
	}
	chosen := chosenBy(f.Record, keys)
	for _, pod := range l.Pods {
		judged := pod.Rules != nil && pod.Bound != evidence.Unseen && !pod.Early && chosen(pod.Pod)
		if judged && pod.Bound.At >= f.Begin() && pod.Bound.At < f.End() {
			t.take(l, pod)
		}
	}
	t.order(l)
	v := t.verdict(missing)
	p.causes(f, l, keys, &v)
	return v
}

// causes counts what made more skew than the hard constraints of a workload's pods allow: the scheduler, which they bind, or a
// change that they do not bind. Pods of all revisions count.
func (p Placement) causes(f *evidence.Run, l *placement.Ledger, keys []history.Key, v *verdict.Verdict) {
	for _, key := range keys {
		chosen := chosenBy(f.Record, []history.Key{key})
		allowed := make(map[string]int) // by topology key
		for _, pod := range l.Pods {
			if pod.Rules == nil || !chosen(pod.Pod) {
				continue
			}
			for _, c := range pod.Rules.Spread {
				if had, ok := allowed[c.TopologyKey]; !ok || int(c.MaxSkew) < had {
					allowed[c.TopologyKey] = int(c.MaxSkew)
				}
			}
		}
		for topology, skew := range allowed {
			spread.FollowSkew(f, topology, key).Count(v, skew)
		}
	}
}

// workloads are the Deployments whose pods are judged.
func (p Placement) workloads(run history.Run) (keys []history.Key, missing verdict.Missing) {
	if p.Workload != "" {
		key, missing := evidence.WorkloadOf(run, p.Workload)
		return []history.Key{key}, missing
	}
	if keys = evidence.Deployments(run); len(keys) == 0 {
		missing.Add("the record has no Deployment")
	}
	return keys, missing
}

// chosenBy returns a function that says whether one of the Deployments selects a pod.
func chosenBy(run history.Run, keys []history.Key) func(history.Pod) bool {
	var workloads []history.Workload
	for _, e := range run.Events {
		if w := e.Workload; w != nil && len(w.Selector) > 0 && slices.Contains(keys, history.Key{Namespace: w.Namespace, Name: w.Name}) {
			workloads = append(workloads, *w)
		}
	}
	return func(p history.Pod) bool {
		return slices.ContainsFunc(workloads, func(w history.Workload) bool {
			return w.Owns(&p)
		})
	}
}

// placementTally counts the results of the bindings.
type placementTally struct {
	facts *evidence.Run
	who   string

	bindings, certain, aboutOthers int
	first                          history.Offset // the first that broke a rule
	broken, open, legal            []string
	unknown                        verdict.Missing

	pods []*placement.PlacedPod          // judged pods, in the order in which they were bound
	told map[*placement.PlacedPod]string // those that are illegal by the order of the record, and why
	free map[*placement.PlacedPod]bool   // those that cannot be called illegal
}

func (t *placementTally) take(l *placement.Ledger, p *placement.PlacedPod) {
	found, known := l.Judge(p)
	if !known {
		t.unknown.Add("the record does not have node %s, to which %s was bound at %s", p.Node, p.Name, prose.Moment(p.Bound.At))
		return
	}
	t.bindings++
	if p.Rules.AboutOthers() {
		t.aboutOthers++
	}
	line := fmt.Sprintf("%s was bound to %s at %s", p.Name, p.Node, prose.Moment(p.Bound.At))
	if p.BySpec {
		line = fmt.Sprintf("%s was made for %s at %s", p.Name, p.Node, prose.Moment(p.Bound.At))
	}
	blind := t.facts.Blind(p.Bound.At)
	t.pods = append(t.pods, p)
	t.free[p] = blind || found.Broken == evidence.Sure
	switch {
	case found.Broken == evidence.Sure && !blind:
		t.breaks(p, line+", "+found.Words)
	case found.Broken == evidence.Sure:
		t.open = append(t.open, "while a watch was blind, "+line+", "+found.Words)
		if t.facts.ReportedLate(p.Bound.At) {
			t.unknown.Add("a watch was late when %s, %s", line, found.Words)
		}
	case found.Told:
		t.told[p] = line + ", " + found.Words
	default:
		switch {
		case found.Broken == evidence.No:
			t.certain++
		case t.facts.HarnessPaused(p.Bound.At):
			t.unknown.Add("the harness was paused when %s, which was legal only in some order", line)
		}
		for _, seen := range found.Seen {
			t.legal = append(t.legal, line+": "+seen)
		}
	}
}

// breaks records a binding that broke a rule.
func (t *placementTally) breaks(p *placement.PlacedPod, words string) {
	if len(t.broken) == 0 || p.Bound.At < t.first {
		t.first = p.Bound.At
		t.broken = slices.Insert(t.broken, 0, words)
		return
	}
	t.broken = append(t.broken, words)
}

// order looks for an order in which the bindings that are close together were legal. If there is none, the first binding that was
// illegal by the order of the record stands for them. If the search has no result, it is unknown.
func (t *placementTally) order(l *placement.Ledger) {
	for _, pods := range placement.Batches(t.pods) {
		told := slices.DeleteFunc(slices.Clone(pods), func(p *placement.PlacedPod) bool { return t.told[p] == "" || t.free[p] })
		if len(told) == 0 {
			continue // the order of the record is legal
		}
		span := fmt.Sprintf("all %d bindings from %s to %s", len(pods), prose.Moment(pods[0].Bound.At), prose.Moment(pods[len(pods)-1].Bound.At))
		switch l.Ordered(pods, func(p *placement.PlacedPod) bool { return !t.free[p] }) {
		case placement.NoOrder:
			t.breaks(told[0], fmt.Sprintf("%s; no order makes %s legal", t.told[told[0]], span))
			continue
		case placement.NotConcluded:
			t.unknown.Add("whether %s were legal in some order was undecided after %d comparisons", span, placement.MaxComparisons)
		}
		for _, p := range told {
			t.open = append(t.open, fmt.Sprintf("by the order of the record, %s; events within %s of each other may have happened in the other order",
				t.told[p], evidence.WatchSkew))
		}
	}
}

func (t *placementTally) verdict(missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	v.Measure("bindings", float64(t.bindings))
	v.Measure("certainBindings", float64(t.certain))
	v.Measure("openBindings", float64(len(t.open)))
	v.Measure("brokenBindings", float64(len(t.broken)))
	v.AtMost("brokenBindings", 0)
	missing = append(missing, t.unknown...)
	if t.aboutOthers == 0 && t.facts.Record.Header.Recorded != nil && len(missing)+len(t.broken) == 0 {
		return v.NotTested("no pod was bound under a rule about other pods")
	}
	if t.aboutOthers == 0 {
		missing.Add("no pod of %s was bound under a rule about other pods", t.who)
	}
	v.Support(t.broken...)
	v.Support(t.open...)
	if len(t.broken) > 0 {
		v.At = t.first
		return v.Violated(missing, "%s", t.broken[0])
	}
	v.Support(t.legal...)
	return v.Held(missing, "%s of %s broke no rule: %d in every order of the events within %s of them, %d in some order",
		prose.Count(t.bindings, "binding"), t.who, t.certain, evidence.WatchSkew, t.bindings-t.certain)
}
