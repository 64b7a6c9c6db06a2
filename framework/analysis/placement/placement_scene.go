package placement

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// scene is what the scheduler may have seen when it decided on a binding. Without a skew it is what the record had told
// by then, and everything in it is sure.
type scene struct {
	pod   *PlacedPod
	nodes []*nodeView
	on    *nodeView // that it was bound to
	pods  []podView // the others in its namespace
}

// nodeView is a node as it may have been seen.
type nodeView struct {
	name   string
	states []history.Node // that it may have been in
	gone   bool           // it may not have been there
}

// podView is a pod as it may have been seen.
type podView struct {
	*PlacedPod
	node           *nodeView // nil: it may have been anywhere, see PlacedPod.ghost
	counted, there evidence.Presence
}

func (l *PlacementLedger) scene(p *PlacedPod, skew time.Duration) *scene {
	s := &scene{pod: p}
	views := make(map[string]*nodeView, len(l.names))
	for _, name := range l.names {
		view := viewOf(l.nodes[name], p.Bound, skew)
		if len(view.states) == 0 {
			continue
		}
		view.name = name
		views[name] = view
		s.nodes = append(s.nodes, view)
	}
	s.on = views[p.Node]
	for _, other := range l.Pods {
		if other == p || other.Namespace != p.Namespace {
			continue
		}
		view := podView{
			PlacedPod: other, node: views[other.Node], counted: other.counted(p.Bound, skew), there: other.there(p.Bound, skew),
		}
		if other.ghost(p.Bound, skew) {
			view.counted, view.there = evidence.Maybe, evidence.Maybe
		} else if view.node == nil || view.there == evidence.No {
			continue
		}
		s.pods = append(s.pods, view)
	}
	return s
}

// viewOf finds the states that a node may have been in.
func viewOf(points []nodePoint, b evidence.Mark, skew time.Duration) *nodeView {
	v := &nodeView{}
	for i, p := range points {
		over := i+1 < len(points) && points[i+1].Before(b, skew) == evidence.Sure
		if over || p.Before(b, skew) == evidence.No {
			continue
		}
		if p.node == nil {
			v.gone = true
		} else {
			v.states = append(v.states, *p.node)
		}
	}
	return v
}

// domains are those of a topology that a node may make, if it may be taken for one at all; and whether it surely makes one.
func (v *nodeView) domains(key string, counts func(history.Node) bool) (of []string, one evidence.Presence) {
	out := v.gone
	for _, n := range v.states {
		domain, has := n.Labels[key]
		switch {
		case !has || !counts(n):
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

// sharesDomain tells whether a pod is in the same domain of a topology as a node in the given state, to which it is
// about to be compared.
func (s *scene) sharesDomain(q podView, key string, here history.Node) evidence.Presence {
	domain, has := here.Labels[key]
	switch {
	case !has:
		return evidence.No
	case q.node == nil:
		return evidence.Maybe
	case q.node == s.on:
		return evidence.Sure
	}
	of, one := q.node.domains(key, everyNode)
	if !slices.Contains(of, domain) {
		return evidence.No
	}
	return one
}

func everyNode(history.Node) bool { return true }

// domainTally is how many of the pods that a spread constraint is about were in a domain.
type domainTally struct {
	least, most int
	exists      evidence.Presence // as a domain
}

// Stats counts the pods that a constraint is about by domain. Domains without any are there with 0.
func (s *scene) tally(c spreadRule) map[string]*domainTally {
	domains := make(map[string]*domainTally)
	type makes struct {
		of  []string
		one evidence.Presence
	}
	by := make(map[*nodeView]makes, len(s.nodes))
	for _, v := range s.nodes {
		of, one := v.domains(c.TopologyKey, func(n history.Node) bool { return s.pod.Rules.counts(c, n) })
		by[v] = makes{of, one}
		for _, domain := range of {
			if domains[domain] == nil {
				domains[domain] = &domainTally{}
			}
			domains[domain].exists = max(domains[domain].exists, one)
		}
	}
	for _, q := range s.pods {
		counted := min(q.counted, q.chosenBy(func(labels map[string]string) bool { return s.about(c, labels) }))
		if counted == evidence.No || s.aboutAll(c) {
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

// about tells whether a constraint of the scene's pod is about pods with these labels: its selector chooses them, and
// they have the pod's own values of its label keys.
func (s *scene) about(c spreadRule, labels map[string]string) bool {
	for _, key := range c.MatchLabelKeys {
		if own, has := s.pod.Labels[key]; has {
			if got, ok := labels[key]; !ok || got != own {
				return false
			}
		}
	}
	return c.LabelSelector.matches(labels)
}

// aboutAll tells whether a constraint is about pods with any labels. The documentation says that an empty selector chooses
// every pod, and kube-scheduler takes it so for the pod that it places; but of the pods that are there it counts none.
//
// Source: countPodsMatchSelector in kubernetes pkg/scheduler/framework/plugins/podtopologyspread/common.go, as of v1.37
func (s *scene) aboutAll(c spreadRule) bool {
	return c.LabelSelector != nil && len(c.LabelSelector.Labels)+len(c.LabelSelector.Expressions) == 0 &&
		!slices.ContainsFunc(c.MatchLabelKeys, func(key string) bool { _, has := s.pod.Labels[key]; return has })
}

// skews are the least and the greatest skew that a pod may have made in a domain.
func skews(domains map[string]*domainTally, domain string, minDomains, self int) (least, most int) {
	here := domains[domain]
	if here == nil {
		here = &domainTally{} // on a node that makes no domain nothing is counted
	}
	surely, fullest := 0, 0
	highest, lowest := -1, -1 // that the emptiest domain may have had; -1: not known yet
	fewest := func(of *int, n int) {
		if *of < 0 || n < *of {
			*of = n
		}
	}
	for name, t := range domains {
		fullest = max(fullest, t.most)
		// What the pod's own domain has is weighed once: it is as full here as there.
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
