package schedulercheck

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// shrink takes things out of a cluster for as long as it stays what it is.
func shrink(c *cluster, still func(*cluster) bool) *cluster {
	for {
		all := c.smaller()
		i := slices.IndexFunc(all, still)
		if i < 0 {
			return c
		}
		c = all[i]
	}
}

// smaller are the clusters with one thing less.
func (c *cluster) smaller() (all []*cluster) {
	less := func(change func(*cluster)) {
		d := c.clone()
		change(d)
		all = append(all, d)
	}
	for i := range c.nodes {
		name := c.nodes[i].Name
		less(func(d *cluster) {
			d.nodes = slices.Delete(d.nodes, i, i+1)
			d.pods = slices.DeleteFunc(d.pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == name })
		})
	}
	for i := range c.pods {
		less(func(d *cluster) { d.pods = slices.Delete(d.pods, i, i+1) })
	}
	for i, n := range c.nodes {
		for j := range n.Spec.Taints {
			less(func(d *cluster) { d.nodes[i].Spec.Taints = slices.Delete(d.nodes[i].Spec.Taints, j, j+1) })
		}
		for key := range n.Labels {
			less(func(d *cluster) { delete(d.nodes[i].Labels, key) })
		}
		if n.Spec.Unschedulable {
			less(func(d *cluster) { d.nodes[i].Spec.Unschedulable = false })
		}
	}
	for i, p := range append(slices.Clone(c.pods), c.incoming) {
		lessOf(p, func(change func(*corev1.Pod)) {
			less(func(d *cluster) { change(append(slices.Clone(d.pods), d.incoming)[i]) })
		})
	}
	return all
}

// lessOf takes one of its rules from a pod.
func lessOf(p *corev1.Pod, less func(func(*corev1.Pod))) {
	for i, c := range p.Spec.TopologySpreadConstraints {
		at := func(p *corev1.Pod) *corev1.TopologySpreadConstraint { return &p.Spec.TopologySpreadConstraints[i] }
		less(func(p *corev1.Pod) {
			p.Spec.TopologySpreadConstraints = slices.Delete(p.Spec.TopologySpreadConstraints, i, i+1)
		})
		if c.MinDomains != nil {
			less(func(p *corev1.Pod) { at(p).MinDomains = nil })
		}
		if c.NodeAffinityPolicy != nil {
			less(func(p *corev1.Pod) { at(p).NodeAffinityPolicy = nil })
		}
		if c.NodeTaintsPolicy != nil {
			less(func(p *corev1.Pod) { at(p).NodeTaintsPolicy = nil })
		}
		if c.MatchLabelKeys != nil {
			less(func(p *corev1.Pod) { at(p).MatchLabelKeys = nil })
		}
	}
	if p.Spec.Tolerations != nil {
		less(func(p *corev1.Pod) { p.Spec.Tolerations = nil })
	}
	if p.Spec.NodeSelector != nil {
		less(func(p *corev1.Pod) { p.Spec.NodeSelector = nil })
	}
	if p.DeletionTimestamp != nil {
		less(func(p *corev1.Pod) { p.DeletionTimestamp = nil })
	}
	a := p.Spec.Affinity
	if a == nil {
		return
	}
	less(func(p *corev1.Pod) { p.Spec.Affinity = nil })
	if a.NodeAffinity != nil {
		less(func(p *corev1.Pod) { p.Spec.Affinity.NodeAffinity = nil })
	}
	if a.PodAffinity != nil {
		less(func(p *corev1.Pod) { p.Spec.Affinity.PodAffinity = nil })
		for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			less(func(p *corev1.Pod) {
				terms := &p.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
				*terms = slices.Delete(*terms, i, i+1)
			})
		}
	}
	if a.PodAntiAffinity != nil {
		less(func(p *corev1.Pod) { p.Spec.Affinity.PodAntiAffinity = nil })
		for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			less(func(p *corev1.Pod) {
				terms := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
				*terms = slices.Delete(*terms, i, i+1)
			})
		}
	}
}

func (c *cluster) clone() *cluster {
	d := &cluster{incoming: c.incoming.DeepCopy(), path: c.path}
	for _, n := range c.nodes {
		d.nodes = append(d.nodes, n.DeepCopy())
	}
	for _, p := range c.pods {
		d.pods = append(d.pods, p.DeepCopy())
	}
	return d
}
