package audit

import (
	"maps"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Node labels of the topology domains whose members fail together.
const (
	zoneKey = corev1.LabelTopologyZone
	hostKey = corev1.LabelHostname
)

// admits reports whether a pod's node selector and required node affinity allow it on a node.
func admits(pod corev1.PodSpec, n *corev1.Node) bool {
	admitted, err := nodeaffinity.NewRequiredNodeAffinity(pod.NodeSelector, pod.Affinity).Match(n)
	return admitted && err == nil
}

// repelledBy returns the key of the first taint of a node that keeps a new pod out because the pod does not tolerate it; empty:
// there is no such taint. Only taints for which counts is true are considered.
func repelledBy(pod corev1.PodSpec, n *corev1.Node, counts func(corev1.Taint) bool) string {
	taint, _ := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, pod.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && counts(*t)
	}, false)
	return taint.Key
}

func anyTaint(corev1.Taint) bool { return true }

// lasting is true for taints that users put on a node. Kubernetes' own taints come and go with a node's health, and with a
// cordon.
func lasting(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") }

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

// view is a cluster with indexes for what rules look up often.
type view struct {
	cluster *Cluster
	kubectl string
	nodes   map[string]*corev1.Node
	all     *nodeSet
	taken   map[string]places // by nodeAsks
	// addresses maps the addresses and names of nodes to their names.
	addresses map[string]string
	// ports maps node ports to the Services' ports that have them.
	ports map[int32]offered
	// in has what is in each namespace.
	in map[string]*contents
}

// contents are objects of one namespace, in the order in which they were read.
type contents struct {
	workloads   []*Workload
	budgets     []cover
	services    []*corev1.Service
	quotas      []*corev1.ResourceQuota
	autoscalers []*autoscalingv2.HorizontalPodAutoscaler
	configMaps  map[string]*corev1.ConfigMap
}

// offered is a port of a Service.
type offered struct {
	service *corev1.Service
	port    corev1.ServicePort
}

func newView(c *Cluster, kubectl string) *view {
	v := &view{
		cluster: c, kubectl: kubectl, taken: map[string]places{}, in: map[string]*contents{},
		nodes: map[string]*corev1.Node{}, addresses: map[string]string{}, ports: map[int32]offered{},
	}
	v.indexNodes()
	for i := range c.Workloads {
		v.inside(c.Workloads[i].Namespace).workloads = append(v.inside(c.Workloads[i].Namespace).workloads, &c.Workloads[i])
	}
	for i := range c.Budgets {
		v.inside(c.Budgets[i].Namespace).budgets = append(v.inside(c.Budgets[i].Namespace).budgets, coverOf(&c.Budgets[i]))
	}
	for i := range c.ConfigMaps {
		v.inside(c.ConfigMaps[i].Namespace).configMaps[c.ConfigMaps[i].Name] = &c.ConfigMaps[i]
	}
	for i := range c.Quotas {
		v.inside(c.Quotas[i].Namespace).quotas = append(v.inside(c.Quotas[i].Namespace).quotas, &c.Quotas[i])
	}
	for i := range c.Autoscalers {
		v.inside(c.Autoscalers[i].Namespace).autoscalers = append(v.inside(c.Autoscalers[i].Namespace).autoscalers, &c.Autoscalers[i])
	}
	for i := range c.Services {
		v.indexService(&c.Services[i])
	}
	return v
}

// inside returns the contents of a namespace.
func (v *view) inside(namespace string) *contents {
	if v.in[namespace] == nil {
		v.in[namespace] = &contents{configMaps: map[string]*corev1.ConfigMap{}}
	}
	return v.in[namespace]
}

func (v *view) indexNodes() {
	for i := range v.cluster.Nodes {
		n := &v.cluster.Nodes[i]
		v.nodes[n.Name], v.addresses[n.Name] = n, n.Name
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

// cover is a budget with its selector, which is parsed once.
type cover struct {
	*policyv1.PodDisruptionBudget
	selects labels.Selector
}

func coverOf(b *policyv1.PodDisruptionBudget) cover {
	selects, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil { // the API rejects invalid selectors
		selects = labels.Nothing()
	}
	return cover{b, selects}
}

func (v *view) indexService(s *corev1.Service) {
	v.inside(s.Namespace).services = append(v.inside(s.Namespace).services, s)
	for _, p := range s.Spec.Ports {
		if p.NodePort != 0 {
			v.ports[p.NodePort] = offered{s, p}
		}
	}
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
