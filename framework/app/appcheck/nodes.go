package appcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resources "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// eligible are the nodes that can take the pods, by their selectors, affinity and tolerations.
func (c *checker) eligible(p pods) (list []corev1.Node) {
	required := nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: p.spec})
	for _, n := range c.plan.Nodes {
		admitted, _ := required.Match(&n) // a term that cannot be parsed matches no node, as in kube-scheduler
		_, tainted := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, p.spec.Tolerations, nil, false)
		if admitted && !tainted {
			list = append(list, n)
		}
	}
	return list
}

// placement finds rules about nodes that the planned nodes do not fulfil. A DaemonSet has pods where it can.
func (c *checker) placement(p pods) {
	if host := p.spec.NodeName; host != "" {
		c.stops(p.Manifest, below(p.path, "nodeName"), "leave it out of the manifests of the test", "%s is a node of another cluster", host)
		return
	}
	if p.Object.GetKind() == "DaemonSet" || p.count == 0 {
		return
	}
	nodes := c.eligible(p)
	if len(nodes) == 0 {
		path, what, labels := p.rules()
		c.stops(p.Manifest, path, "leave it out of the manifests of the test, or ask for a label that they have: "+c.labels(), "no node of the cluster has %s%s", what, labels)
		return
	}
	for i, s := range p.spec.TopologySpreadConstraints {
		if s.WhenUnsatisfiable == corev1.DoNotSchedule && len(domains(nodes, s.TopologyKey)) == 0 {
			c.stops(p.Manifest, below(p.path, "topologySpreadConstraints", i), "spread over "+clustersKeys, "no node of the cluster has label %s", s.TopologyKey)
		}
	}
	c.apart(p, nodes)
}

// clustersKeys are the topology keys that the workers of a test have.
const clustersKeys = corev1.LabelTopologyZone + " or " + corev1.LabelHostname

// rules is the first rule about nodes, and what it asks for, with labels.
func (p pods) rules() (path []any, what ours, asked string) {
	if len(p.spec.NodeSelector) > 0 {
		return below(p.path, "nodeSelector"), "the labels ", labels.FormatLabels(p.spec.NodeSelector)
	}
	return below(p.path, "affinity", "nodeAffinity"), "what it requires", ""
}

// labels are those of the planned workers.
func (c *checker) labels() string {
	values := map[string][]string{}
	for _, n := range c.plan.Nodes {
		if len(n.Spec.Taints) > 0 {
			continue
		}
		for key, value := range n.Labels {
			if key != corev1.LabelHostname && !strings.HasPrefix(key, "beta.") && !slices.Contains(values[key], value) {
				values[key] = append(values[key], value)
			}
		}
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		all = append(all, key+"="+strings.Join(values[key], "|"))
	}
	return strings.Join(all, ", ")
}

// domains are the values that nodes have of a label.
func domains(nodes []corev1.Node, key string) (values []string) {
	for _, n := range nodes {
		if value, has := n.Labels[key]; has && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values
}

// apart finds more pods than there are domains, where each must have its own.
func (c *checker) apart(p pods, nodes []corev1.Node) {
	if p.spec.Affinity == nil || p.spec.Affinity.PodAntiAffinity == nil {
		return
	}
	for i, term := range p.spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
		selector, err := metav1.LabelSelectorAsSelector(term.LabelSelector)
		if err != nil || term.LabelSelector == nil || !selector.Matches(labels.Set(p.labels)) {
			continue
		}
		if n := len(domains(nodes, term.TopologyKey)); int(p.count) > n {
			c.stops(p.Manifest, below(p.path, "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution", i),
				fmt.Sprintf("ask for at most %d replicas in the manifests of the test", n), "%d pods each need a %s of their own, and their nodes have %d", p.count, term.TopologyKey, n)
		}
	}
}

// needs is what one pod requests. Where only a limit is given, Kubernetes takes it as the request.
func (p pods) needs() corev1.ResourceList {
	spec := p.spec.DeepCopy()
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			r := &list[i].Resources
			if r.Requests == nil {
				r.Requests = corev1.ResourceList{}
			}
			for name, limit := range r.Limits {
				if _, asked := r.Requests[name]; !asked {
					r.Requests[name] = limit
				}
			}
		}
	}
	return resources.PodRequests(&corev1.Pod{Spec: *spec}, resources.PodResourcesOptions{})
}

// counted are the resources that a node reports.
var counted = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// requests finds devices that no node has, and pods that are larger than a node.
func (c *checker) requests(p pods) {
	for _, one := range p.containers() {
		for _, name := range slices.Sorted(maps.Keys(one.Resources.Limits)) {
			if limit := one.Resources.Limits[name]; strings.Contains(string(name), "/") && !limit.IsZero() {
				c.stops(p.Manifest, below(one.path, "resources", "limits", string(name)), "remove it from the manifests of the test",
					"container %s needs %s, and no node has it", one.Name, name)
			}
		}
	}
	if len(c.plan.Nodes) == 0 {
		return
	}
	needs, has := p.needs(), c.plan.Nodes[0].Status.Allocatable
	for _, name := range counted {
		if asked, there := needs[name], has[name]; !there.IsZero() && asked.Cmp(there) > 0 {
			c.stops(p.Manifest, below(p.path, "containers"), "request less in the manifests of the test",
				"a pod requests %s of %s, and this machine has %s", asked.String(), name, in(there))
		}
	}
}

// sum finds requests that are too much for all workers together. Each fits by itself.
func (c *checker) sum() {
	total, largest, most := corev1.ResourceList{}, map[corev1.ResourceName]pods{}, corev1.ResourceList{}
	for i, m := range c.objects {
		for _, p := range c.pods[i] {
			nodes := c.eligible(p)
			count := int64(p.count)
			if m.Object.GetKind() == "DaemonSet" {
				count = int64(len(nodes))
			}
			if kind := m.Object.GetKind(); kind == "Job" || kind == "CronJob" { // they end
				continue
			}
			for name, asked := range p.needs() {
				share := multiplied(asked, count)
				now := total[name]
				now.Add(share)
				total[name] = now
				if before := most[name]; share.Cmp(before) > 0 {
					most[name], largest[name] = share, p
				}
			}
		}
	}
	for _, name := range counted {
		var there resource.Quantity
		workers := 0
		for _, n := range c.plan.Nodes {
			if len(n.Spec.Taints) == 0 {
				workers++
				there.Add(n.Status.Allocatable[name])
			}
		}
		if asked := total[name]; !there.IsZero() && asked.Cmp(there) > 0 {
			p, share := largest[name], most[name]
			c.stops(p.Manifest, below(p.path, "containers"), "request less, or have fewer replicas, in the manifests of the test",
				"all pods together request %s of %s, of which these request %s, and the %d workers on this machine have %s", in(asked), name, in(share), workers, in(there))
		}
	}
}

// multiplied is a quantity so often.
func multiplied(q resource.Quantity, count int64) resource.Quantity {
	if cpu := q.MilliValue(); cpu < 1<<40 {
		return *resource.NewMilliQuantity(cpu*count, q.Format)
	}
	return *resource.NewQuantity(q.Value()*count, q.Format)
}

// in is a quantity as people read it.
func in(q resource.Quantity) ours {
	if gib := float64(q.Value()) / (1 << 30); gib >= 1 {
		return ours(fmt.Sprintf("%.1f Gi", gib))
	}
	return ours(cmp.Or(q.String(), "0"))
}
