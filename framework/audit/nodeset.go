package audit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeSet is some of the nodes, sorted by name. Its domains are determined once: thousands of workloads ask for the same ones.
type nodeSet struct {
	nodes []*corev1.Node
	byKey map[string][]string
	sizes map[[2]string]nesting
}

// nesting says how many domains of one label there are inside those of another.
type nesting struct {
	outer       int // domains of the other label
	least, most int // domains inside one of them; at least 1
}

func newNodeSet(nodes []*corev1.Node) *nodeSet {
	return &nodeSet{nodes: nodes, byKey: map[string][]string{}, sizes: map[[2]string]nesting{}}
}

// domains returns the sorted values of a label among the nodes. The caller must not change them.
func (n *nodeSet) domains(key string) []string {
	all, known := n.byKey[key]
	if !known {
		all = domains(n.nodes, key)
		n.byKey[key] = all
	}
	return all
}

// inside returns how many domains of inner there are inside those of outer. Without any, the numbers are 0.
func (n *nodeSet) inside(outer, inner string) nesting {
	in, known := n.sizes[[2]string{outer, inner}]
	if known {
		return in
	}
	groups := map[string][]*corev1.Node{}
	for _, node := range n.nodes {
		if value, labelled := node.Labels[outer]; labelled {
			groups[value] = append(groups[value], node)
		}
	}
	var sizes []int
	for _, nodes := range groups {
		sizes = append(sizes, max(len(domains(nodes, inner)), 1))
	}
	if len(sizes) > 0 {
		in = nesting{outer: len(sizes), least: slices.Min(sizes), most: slices.Max(sizes)}
	}
	n.sizes[[2]string{outer, inner}] = in
	return in
}

// domains returns the sorted values of a label among nodes.
func domains(nodes []*corev1.Node, key string) []string {
	found := map[string]bool{}
	for _, n := range nodes {
		if value, labelled := n.Labels[key]; labelled {
			found[value] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// places are the nodes that can take the pods of a template.
type places struct {
	homes *nodeSet // see subject.homes
	open  *nodeSet // see subject.open
}

// places returns the nodes that can take the subject's pods. Templates that ask the same of nodes share them.
func (s *subject) places() places {
	asks := nodeAsks(s.Template.Spec)
	p, known := s.taken[asks]
	if !known {
		p = places{homes: newNodeSet(s.nodesThatTake(lasting)), open: newNodeSet(slices.DeleteFunc(
			s.nodesThatTake(anyTaint), func(n *corev1.Node) bool { return n.Spec.Unschedulable },
		))}
		s.taken[asks] = p
	}
	return p
}

// nodeAsks is what a pod asks of its node, as a text that is equal for equal pods.
func nodeAsks(pod corev1.PodSpec) string {
	asks := struct {
		Selector    map[string]string
		Affinity    *corev1.NodeAffinity
		Tolerations []corev1.Toleration
	}{Selector: pod.NodeSelector, Tolerations: pod.Tolerations}
	if pod.Affinity != nil {
		asks.Affinity = pod.Affinity.NodeAffinity
	}
	return string(encode(asks))
}

func (s *subject) nodesThatTake(counts func(corev1.Taint) bool) (nodes []*corev1.Node) {
	for _, n := range s.all.nodes {
		if admits(s.Template.Spec, n) && repelledBy(s.Template.Spec, n, counts) == "" {
			nodes = append(nodes, n)
		}
	}
	return nodes
}
