package audit

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// view is a cluster with indexes for what rules look up often.
type view struct {
	cluster *Cluster
	kubectl string
	nodes   map[string]*corev1.Node
	// addresses maps the addresses and names of nodes to their names.
	addresses map[string]string
	// ports maps node ports to the Services' ports that have them.
	ports map[int32]offered
}

// offered is a port of a Service.
type offered struct {
	service *corev1.Service
	port    corev1.ServicePort
}

func newView(c *Cluster, kubectl string) *view {
	v := &view{
		cluster: c, kubectl: kubectl,
		nodes: map[string]*corev1.Node{}, addresses: map[string]string{}, ports: map[int32]offered{},
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		v.nodes[n.Name], v.addresses[n.Name] = n, n.Name
		for _, a := range n.Status.Addresses {
			v.addresses[a.Address] = n.Name
		}
	}
	for i := range c.Services {
		for _, p := range c.Services[i].Spec.Ports {
			if p.NodePort != 0 {
				v.ports[p.NodePort] = offered{&c.Services[i], p}
			}
		}
	}
	return v
}

// placed returns the subject's pods that are bound to a node and not being deleted.
func (s *subject) placed() (pods []corev1.Pod) {
	for _, p := range s.Pods {
		if p.Spec.NodeName != "" && p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods
}

// matches reports whether a selector selects labels, as the API server defines it: a nil selector selects nothing, an empty one
// everything.
func matches(selector *metav1.LabelSelector, of map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(of))
}

// own reports whether a selector selects the subject's own pods.
func (s *subject) own(selector *metav1.LabelSelector) bool {
	return matches(selector, s.Template.Labels)
}

// ownTerm reports whether a term of pod affinity selects the subject's own pods.
func (s *subject) ownTerm(t corev1.PodAffinityTerm) bool {
	here := len(t.Namespaces) == 0 && t.NamespaceSelector == nil || slices.Contains(t.Namespaces, s.Namespace) ||
		t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) == 0
	return here && s.own(t.LabelSelector)
}

// homes returns the nodes that can take the subject's pods, though maybe not at this moment: its selector and affinity admit
// them, and it tolerates their lasting taints.
func (s *subject) homes() []*corev1.Node { return s.nodesThatTake(lasting) }

// open returns the nodes that take the subject's pods at this moment.
func (s *subject) open() []*corev1.Node {
	return slices.DeleteFunc(s.nodesThatTake(anyTaint), func(n *corev1.Node) bool { return n.Spec.Unschedulable })
}

func (s *subject) nodesThatTake(counts func(corev1.Taint) bool) []*corev1.Node {
	return slices.DeleteFunc(s.allNodes(), func(n *corev1.Node) bool {
		return !admits(s.Template.Spec, n) || repelledBy(s.Template.Spec, n, counts) != ""
	})
}

// allNodes returns the nodes, sorted by name.
func (v *view) allNodes() (nodes []*corev1.Node) {
	for _, name := range slices.Sorted(maps.Keys(v.nodes)) {
		nodes = append(nodes, v.nodes[name])
	}
	return nodes
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

// tally counts pods by the domain of their node. Domains of open nodes without pods are included with 0.
func (s *subject) tally(key string, pods []corev1.Pod) map[string]int {
	counts := map[string]int{}
	for _, d := range domains(s.open(), key) {
		counts[d] = 0
	}
	for _, p := range pods {
		if n := s.nodes[p.Spec.NodeName]; n != nil {
			if value, labelled := n.Labels[key]; labelled {
				counts[value]++
			}
		}
	}
	return counts
}
