package invariant

import (
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Placement promises that each binding was legal when it was made, under the scheduler's own hard rules: topology spread
// constraints that say DoNotSchedule, with minDomains, matchLabelKeys, nodeAffinityPolicy and nodeTaintsPolicy; required
// affinity and anti-affinity to other pods, theirs included; node selector, required node affinity, taints and cordons.
// For a spread, eligible domains without pods count, and pods that are going do not. Soft rules, resources, ports,
// volumes and pods of other namespaces are not looked at.
//
// It is a rule of the moment of binding; what becomes of a spread afterwards is the matter of Spread. A pod that was made
// with a node in its spec is judged as if it had been bound when it was first seen.
//
// The scheduler goes by its own cache and does not wait for what it has decided to be written, so that what the record
// tells within the skew of a binding it may have known or not. A binding is illegal only if it is so in every such
// case, taken rule by rule. Of pods that were bound close together and whose rules are about each other, one is illegal if
// no order in which the scheduler may have come to them makes all of them legal. Where the search for such an order ends
// before it has found one or excluded all, there is no verdict.
//
// Evidence: a binding by rules about other pods, after Deploy began; and of every pod, its rules.
type Placement struct {
	// Workload is the Deployment whose pods are judged; empty means all Deployments in the record.
	Workload string `json:"workload,omitempty"`
}

func (p Placement) String() string {
	who := p.Workload
	if who == "" {
		who = "every Deployment"
	}
	return fmt.Sprintf("each pod of %s is put where the scheduler's hard rules allow it at that moment", who)
}

func (p Placement) judge(f *facts) Verdict {
	keys, missing := p.workloads(f.run)
	d := slices.Concat(f.inOrder(f.begin()), f.faultsBit(true), missing)
	l := newPlacementLedger(f.run)
	d = append(d, l.doubts()...)
	t := placementTally{
		facts: f, who: p.Workload, told: make(map[*placedPod]string), free: make(map[*placedPod]bool),
	}
	if t.who == "" {
		t.who = "all Deployments"
	}
	chosen := chosenBy(f.run, keys)
	for _, pod := range l.pods {
		judged := pod.rules != nil && pod.bound != unseen && !pod.early && chosen(pod.Pod)
		if judged && pod.bound.at >= f.begin() && pod.bound.at < f.end() {
			t.take(l, pod)
		}
	}
	t.order(l)
	v := t.verdict(d)
	p.causes(f, l, keys, &v)
	return v
}

// causes puts down who made more skew than the hard constraints of a workload's pods allow: for each of them how often,
// whether it was the scheduler, which they bind, or what they do not bind. Pods are counted here whatever their revision.
func (p Placement) causes(f *facts, l *placementLedger, keys []history.Key, v *Verdict) {
	for _, key := range keys {
		chosen := chosenBy(f.run, []history.Key{key})
		allowed := make(map[string]int) // by topology
		for _, pod := range l.pods {
			if pod.rules == nil || !chosen(pod.Pod) {
				continue
			}
			for _, c := range pod.rules.Spread {
				if had, ok := allowed[c.TopologyKey]; !ok || c.MaxSkew < had {
					allowed[c.TopologyKey] = c.MaxSkew
				}
			}
		}
		for topology, skew := range allowed {
			followSkew(f, topology, key).count(v, skew)
		}
	}
}

// workloads are the Deployments whose pods are judged.
func (p Placement) workloads(run history.Run) (keys []history.Key, d doubts) {
	if p.Workload != "" {
		key, d := workloadOf(run, p.Workload)
		return []history.Key{key}, d
	}
	if keys = deployments(run); len(keys) == 0 {
		d.add("the record has no Deployment")
	}
	return keys, d
}

// chosenBy returns what tells whether one of the Deployments chooses a pod.
func chosenBy(run history.Run, keys []history.Key) func(history.Pod) bool {
	var workloads []history.Workload
	for _, e := range run.Events {
		if w := e.Workload; w != nil && len(w.Selector) > 0 && slices.Contains(keys, history.Key{Namespace: w.Namespace, Name: w.Name}) {
			workloads = append(workloads, *w)
		}
	}
	return func(p history.Pod) bool {
		return slices.ContainsFunc(workloads, func(w history.Workload) bool {
			return w.Namespace == p.Namespace && history.Selects(w.Selector, p.Labels)
		})
	}
}

// placementTally counts what became of the bindings.
type placementTally struct {
	facts *facts
	who   string

	bindings, certain, aboutOthers int
	first                          history.Offset // of those that broke a rule
	broken, open, legal            []string
	unknown                        doubts

	pods []*placedPod          // that were judged, in the order in which they were bound
	told map[*placedPod]string // of those, which the order of the record makes illegal, and how
	free map[*placedPod]bool   // of those, which cannot be accused
}

func (t *placementTally) take(l *placementLedger, p *placedPod) {
	found, known := l.judge(p)
	if !known {
		t.unknown.add("the record does not know %s, to which %s was bound at %s", p.Node, p.Name, moment(p.bound.at))
		return
	}
	t.bindings++
	if p.rules.aboutOthers() {
		t.aboutOthers++
	}
	line := fmt.Sprintf("%s was bound to %s at %s", p.Name, p.Node, moment(p.bound.at))
	if p.bySpec {
		line = fmt.Sprintf("%s was made for %s at %s", p.Name, p.Node, moment(p.bound.at))
	}
	blind := t.facts.blind(p.bound.at)
	t.pods = append(t.pods, p)
	t.free[p] = blind || found.broken == sure
	switch {
	case found.broken == sure && !blind:
		t.breaks(p, line+", "+found.words)
	case found.broken == sure:
		t.open = append(t.open, "while a watch was blind, "+line+", "+found.words)
		if t.facts.toldLate(p.bound.at) {
			t.unknown.add("a watch was late when %s, %s", line, found.words)
		}
	case found.told:
		t.told[p] = line + ", " + found.words
	default:
		switch {
		case found.broken == no:
			t.certain++
		case t.facts.stoodStill(p.bound.at):
			t.unknown.add("the harness stood still when %s, which was legal only in some order", line)
		}
		for _, seen := range found.seen {
			t.legal = append(t.legal, line+": "+seen)
		}
	}
}

// breaks notes a binding that broke a rule.
func (t *placementTally) breaks(p *placedPod, words string) {
	if len(t.broken) == 0 || p.bound.at < t.first {
		t.first = p.bound.at
		t.broken = slices.Insert(t.broken, 0, words)
		return
	}
	t.broken = append(t.broken, words)
}

// order looks for an order in which the bindings that lie close together were legal. If there is none, the first that
// was not by the order of the record stands for them. If the search concludes neither, it is not known.
func (t *placementTally) order(l *placementLedger) {
	for _, pods := range bursts(t.pods) {
		told := slices.DeleteFunc(slices.Clone(pods), func(p *placedPod) bool { return t.told[p] == "" || t.free[p] })
		if len(told) == 0 {
			continue // the order of the record is one
		}
		span := fmt.Sprintf("all %d bindings from %s to %s", len(pods), moment(pods[0].bound.at), moment(pods[len(pods)-1].bound.at))
		switch l.ordered(pods, func(p *placedPod) bool { return !t.free[p] }) {
		case noOrder:
			t.breaks(told[0], fmt.Sprintf("%s; in no order were %s legal", t.told[told[0]], span))
			continue
		case notConcluded:
			t.unknown.add("whether %s were legal in some order was not concluded after %d weighings", span, maxWeighings)
		}
		for _, p := range told {
			t.open = append(t.open, fmt.Sprintf("by the order of the record, %s; what came within %s may have come the other way round",
				t.told[p], watchSkew))
		}
	}
}

func (t *placementTally) verdict(d doubts) Verdict {
	v := Verdict{}
	v.measure("bindings", float64(t.bindings))
	v.measure("certainBindings", float64(t.certain))
	v.measure("openBindings", float64(len(t.open)))
	v.measure("brokenBindings", float64(len(t.broken)))
	d = append(d, t.unknown...)
	if t.aboutOthers == 0 {
		d.add("no pod of %s was bound by a rule about other pods", t.who)
	}
	v.support(t.broken...)
	v.support(t.open...)
	if len(t.broken) > 0 {
		v.At = t.first
		return v.violated(d, "%s", t.broken[0])
	}
	v.support(t.legal...)
	return v.held(d, "%s of %s broke no rule: %d in every order of what came within %s of them, %d in some order",
		count(t.bindings, "binding"), t.who, t.certain, watchSkew, t.bindings-t.certain)
}
