package placement

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// schedulingView is what the scheduler may have seen when it decided on a binding. Without a skew it is what the record had by
// then, and everything in it is sure.
type schedulingView struct {
	pod   *PlacedPod
	nodes []*nodeView
	on    *nodeView // that it was bound to
	pods  []podView // the others in its namespace
}

// nodeView is a node as the scheduler may have seen it.
type nodeView struct {
	name   string
	states []*corev1.Node // that it may have been in
	gone   bool           // it may not have existed
}

// podView is a pod as the scheduler may have seen it.
type podView struct {
	*PlacedPod
	node           *nodeView // nil: it may have been on any node; see PlacedPod.assumed
	counted, there evidence.Presence
}

func (l *Ledger) view(p *PlacedPod, skew time.Duration) *schedulingView {
	v := &schedulingView{pod: p}
	views := make(map[string]*nodeView, len(l.names))
	for _, name := range l.names {
		node := viewNode(l.nodes[name], p.Bound, skew)
		if len(node.states) == 0 {
			continue
		}
		node.name = name
		views[name] = node
		v.nodes = append(v.nodes, node)
	}
	v.on = views[p.Node]
	for _, other := range l.Pods {
		if other == p || other.Namespace != p.Namespace {
			continue
		}
		q := podView{
			PlacedPod: other, node: views[other.Node], counted: other.counted(p.Bound, skew), there: other.there(p.Bound, skew),
		}
		if other.assumed(p.Bound, skew) {
			q.counted, q.there = evidence.Maybe, evidence.Maybe
		} else if q.node == nil || q.there == evidence.No {
			continue
		}
		v.pods = append(v.pods, q)
	}
	return v
}

// viewNode finds the states that a node may have been in.
func viewNode(points []nodePoint, b evidence.Mark, skew time.Duration) *nodeView {
	v := &nodeView{}
	for i, p := range points {
		over := i+1 < len(points) && points[i+1].Before(b, skew) == evidence.Sure
		if over || p.Before(b, skew) == evidence.No {
			continue
		}
		if p.node == nil {
			v.gone = true
		} else {
			v.states = append(v.states, p.node)
		}
	}
	return v
}

// domains returns the domains of a topology that a node may belong to, and whether it belongs to one. Only nodes for which
// eligible is true have a domain.
func (v *nodeView) domains(key string, eligible func(*corev1.Node) bool) (of []string, one evidence.Presence) {
	out := v.gone
	for _, n := range v.states {
		domain, has := n.Labels[key]
		switch {
		case !has || !eligible(n):
			out = true
		case !slices.Contains(of, domain):
			of = append(of, domain)
		}
	}
	switch {
	case len(of) == 0:
		return nil, evidence.No
	case len(of) == 1 && !out:
		return of, evidence.Sure
	}
	return of, evidence.Maybe
}

// sharesDomain says whether another pod is in the same domain of a topology as the view's pod, whose node is in the state here.
func (v *schedulingView) sharesDomain(q podView, key string, here *corev1.Node) evidence.Presence {
	domain, has := here.Labels[key]
	switch {
	case !has:
		return evidence.No
	case q.node == nil:
		return evidence.Maybe
	case q.node == v.on:
		return evidence.Sure
	}
	of, one := q.node.domains(key, everyNode)
	if !slices.Contains(of, domain) {
		return evidence.No
	}
	return one
}

func everyNode(*corev1.Node) bool { return true }

// domainCount is how many of the pods that a spread constraint selects were in a domain.
type domainCount struct {
	least, most int
	exists      evidence.Presence // as a domain
}

// countPods counts the pods that a constraint selects by domain. Domains without pods are included with 0.
func (v *schedulingView) countPods(c spreadRule) map[string]*domainCount {
	domains := make(map[string]*domainCount)
	type membership struct {
		of  []string
		one evidence.Presence
	}
	by := make(map[*nodeView]membership, len(v.nodes))
	for _, node := range v.nodes {
		of, one := node.domains(c.TopologyKey, func(n *corev1.Node) bool { return v.pod.Rules.eligible(c, n) })
		by[node] = membership{of, one}
		for _, domain := range of {
			if domains[domain] == nil {
				domains[domain] = &domainCount{}
			}
			domains[domain].exists = max(domains[domain].exists, one)
		}
	}
	for _, q := range v.pods {
		counted := min(q.counted, q.selectedBy(func(labels map[string]string) bool { return v.about(c, labels) }))
		if counted == evidence.No || v.countsNone(c) {
			continue
		}
		if q.node == nil {
			for _, t := range domains {
				t.most++
			}
			continue
		}
		node := by[q.node]
		for _, domain := range node.of {
			domains[domain].most++
			if counted == evidence.Sure && node.one == evidence.Sure {
				domains[domain].least++
			}
		}
	}
	return domains
}

// about reports whether a constraint of the view's pod is about pods with these labels: its selector selects them, and they have
// the pod's own values of its matchLabelKeys.
func (v *schedulingView) about(c spreadRule, of map[string]string) bool {
	for _, key := range c.MatchLabelKeys {
		if own, has := v.pod.Labels[key]; has {
			if got, ok := of[key]; !ok || got != own {
				return false
			}
		}
	}
	return c.selector.Matches(labels.Set(of))
}

// countsNone reports whether a constraint selects pods with any labels. The documentation says that an empty selector selects
// every pod, and kube-scheduler follows that for the pod that it places, but of the existing pods it counts none.
//
// Source: countPodsMatchSelector in kubernetes pkg/scheduler/framework/plugins/podtopologyspread/common.go, as of v1.37
func (v *schedulingView) countsNone(c spreadRule) bool {
	return c.selector.Empty() && !slices.ContainsFunc(c.MatchLabelKeys, func(key string) bool { _, has := v.pod.Labels[key]; return has })
}

// skews returns the least and the greatest skew that a pod may have made in a domain.
func skews(domains map[string]*domainCount, domain string, minDomains, self int) (least, most int) {
	here := domains[domain]
	if here == nil {
		here = &domainCount{} // no pods are counted on a node that is not eligible
	}
	surely, fullest := 0, 0
	highest, lowest := -1, -1 // how many pods the emptiest domain may have had; -1: not known yet
	fewest := func(of *int, n int) {
		if *of < 0 || n < *of {
			*of = n
		}
	}
	for name, t := range domains {
		fullest = max(fullest, t.most)
		// The pod's own domain has the same number of pods on both sides of the comparison.
		mostThere, leastThere := t.most, t.least
		if name == domain {
			mostThere, leastThere = t.least, t.most
		}
		if t.exists == evidence.Sure {
			surely++
			fewest(&highest, mostThere)
		}
		fewest(&lowest, leastThere)
	}
	if highest < 0 {
		highest = fullest
	}
	minDomains = max(minDomains, 1)
	if len(domains) < minDomains {
		highest = 0
	}
	if surely < minDomains {
		lowest = 0
	}
	return here.least + self - highest, here.most + self - max(lowest, 0)
}
