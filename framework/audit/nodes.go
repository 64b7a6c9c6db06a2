package audit

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/placement"
)

// Node labels of the topology domains whose members fail together.
const (
	zoneKey = corev1.LabelTopologyZone
	hostKey = corev1.LabelHostname
)

// lasting is a node without what comes and goes with its health: Kubernetes' own taints, and a cordon.
func lasting(n *corev1.Node) *corev1.Node {
	bare := &corev1.Node{ObjectMeta: n.ObjectMeta}
	for _, t := range n.Spec.Taints {
		if !strings.HasPrefix(t.Key, "node.kubernetes.io/") {
			bare.Spec.Taints = append(bare.Spec.Taints, t)
		}
	}
	return bare
}

// fit returns whether the subject's own rules admit it to a node in the long run.
func (s *subject) fit(n *corev1.Node) placement.Fit { return s.places().rules.Fit(s.lasting[n.Name]) }

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

// places are the nodes that can take a workload's pods.
type places struct {
	rules placement.NodeRules
	homes *nodeSet // see subject.homes
	open  *nodeSet // see subject.open
}

// places returns the nodes that can take the subject's pods. Templates that ask the same of nodes share them.
func (s *subject) places() places {
	pod := s.Template.Spec
	asks := string(encode([]any{pod.NodeSelector, ptr.Deref(pod.Affinity, corev1.Affinity{}).NodeAffinity, pod.Tolerations}))
	p, known := s.taken[asks]
	if !known {
		p = places{rules: placement.NodeRulesOf(pod), homes: newNodeSet(nil), open: newNodeSet(nil)}
		for _, n := range s.all.nodes {
			if p.rules.Fit(s.lasting[n.Name]).OK() {
				p.homes.nodes = append(p.homes.nodes, n)
			}
			if p.rules.Fit(n).OK() {
				p.open.nodes = append(p.open.nodes, n)
			}
		}
		s.taken[asks] = p
	}
	return p
}

// view is a cluster with indexes for what rules look up often.
type view struct {
	cluster *Cluster
	kubectl string
	nodes   map[string]*corev1.Node
	lasting map[string]*corev1.Node // see lasting
	all     *nodeSet
	taken   map[string]places // by what templates ask of nodes
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
		cluster: c, kubectl: kubectl, taken: map[string]places{},
		nodes: map[string]*corev1.Node{}, lasting: map[string]*corev1.Node{}, addresses: map[string]string{}, ports: map[int32]offered{},
	}
	v.indexNodes()
	for i, s := range c.Services {
		for _, p := range s.Spec.Ports {
			if p.NodePort != 0 {
				v.ports[p.NodePort] = offered{&c.Services[i], p}
			}
		}
	}
	return v
}

// in returns the objects of a namespace, in the order in which they were read.
func in[T any, P interface {
	*T
	GetNamespace() string
}](namespace string, all []T) (found []P) {
	for i := range all {
		if P(&all[i]).GetNamespace() == namespace {
			found = append(found, P(&all[i]))
		}
	}
	return found
}

func (v *view) indexNodes() {
	for i := range v.cluster.Nodes {
		n := &v.cluster.Nodes[i]
		v.nodes[n.Name], v.lasting[n.Name], v.addresses[n.Name] = n, lasting(n), n.Name
		for _, a := range n.Status.Addresses {
			v.addresses[a.Address] = n.Name
		}
	}
	var sorted []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(v.nodes)) {
		sorted = append(sorted, v.nodes[name])
	}
	v.all = newNodeSet(sorted)
}

// placed returns the subject's pods that are bound to a node and not being deleted.
func (s *subject) placed() (pods []*Pod) {
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Node != "" && !p.Going {
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

func selectsAll(selector *metav1.LabelSelector) bool {
	return selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// own reports whether a selector selects the subject's own pods.
func (s *subject) own(selector *metav1.LabelSelector) bool {
	return matches(selector, s.Template.Labels)
}

// ownTerm reports whether a term of pod affinity selects the subject's own pods.
func (s *subject) ownTerm(t corev1.PodAffinityTerm) bool {
	here := len(t.Namespaces) == 0 && t.NamespaceSelector == nil || slices.Contains(t.Namespaces, s.Namespace) || selectsAll(t.NamespaceSelector)
	return here && s.own(t.LabelSelector)
}

// homes returns the nodes that can take the subject's pods, though maybe not at this moment: its selector and affinity admit
// them, and it tolerates their lasting taints.
func (s *subject) homes() *nodeSet { return s.places().homes }

// open returns the nodes that take the subject's pods at this moment.
func (s *subject) open() *nodeSet { return s.places().open }

// tally counts pods by the domain of their node. Domains of open nodes without pods are included with 0.
func (s *subject) tally(key string, pods []*Pod) map[string]int {
	counts := s.count(key, pods)
	for _, d := range s.open().domains(key) {
		counts[d] += 0
	}
	return counts
}

// count counts pods by the domain of their node.
func (s *subject) count(key string, pods []*Pod) map[string]int {
	counts := map[string]int{}
	for _, p := range pods {
		if n := s.nodes[p.Node]; n != nil {
			if value, labelled := n.Labels[key]; labelled {
				counts[value]++
			}
		}
	}
	return counts
}
