package schedulercheck

import (
	"fmt"
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster is what the scheduler finds when it comes to a pod. Its objects are as the API server stores them.
type cluster struct {
	nodes    []*corev1.Node
	pods     []*corev1.Pod // bound, terminating ones included
	incoming *corev1.Pod
	path     uint64 // seeds how the record came to this state, see record
}

// What random clusters are made of: few enough values that they often meet.
const (
	hostKey   = corev1.LabelHostname
	zoneKey   = corev1.LabelTopologyZone
	rackKey   = "rack"
	home      = "home" // the incoming pod's namespace
	elsewhere = "elsewhere"
)

var topologyKeys = []string{zoneKey, zoneKey, hostKey, rackKey}

// dice makes random choices.
type dice struct{ *rand.Rand }

func newDice(seed, number uint64) dice { return dice{rand.New(rand.NewPCG(seed, number))} }

// in is true in one of n cases.
func (d dice) in(n int) bool { return d.IntN(n) == 0 }

func pick[T any](d dice, of ...T) T { return of[d.IntN(len(of))] }

// some picks up to most of the given, in order.
func some[T any](d dice, most int, of ...T) (picked []T) {
	for _, one := range of {
		if len(picked) < most && d.in(2) {
			picked = append(picked, one)
		}
	}
	return picked
}

// randomCluster makes cluster number n. Its few parts come in any mixture: what decides must not always be the same.
func randomCluster(seed, number uint64) *cluster {
	d := newDice(seed, number)
	c := &cluster{path: d.Uint64()}
	tainted, closed := d.in(2), d.in(3) // in half of the clusters, taints decide nothing
	for i := range 1 + d.IntN(8) {
		c.nodes = append(c.nodes, d.node(fmt.Sprintf("n%d", i), tainted, closed))
	}
	kinds := make([]*corev1.Pod, 1+d.IntN(4))
	for i := range kinds {
		kinds[i] = d.pod(i > 0 || d.in(3))
	}
	for i := range d.IntN(24) {
		p := pick(d, kinds...).DeepCopy()
		p.Name, p.UID = fmt.Sprintf("p%d", i), ""
		p.Spec.NodeName = pick(d, c.nodes...).Name
		if d.in(6) {
			p.DeletionTimestamp = &metav1.Time{}
		}
		if d.in(8) {
			p.Namespace = elsewhere
		}
		if d.in(8) {
			p.Labels = d.podLabels()
		}
		c.pods = append(c.pods, admit(p))
	}
	c.incoming = kinds[0].DeepCopy()
	c.incoming.Name = "incoming"
	if d.in(6) {
		c.incoming.Labels = d.podLabels()
	}
	admit(c.incoming)
	return c
}

func (d dice) node(name string, tainted, closed bool) *corev1.Node {
	labels := map[string]string{
		hostKey: name, zoneKey: pick(d, "a", "b", "c"), rackKey: pick(d, "r1", "r2"), "pool": pick(d, "x", "y", "z"),
		"generation": pick(d, "3", "7", "12", "old", "007"),
	}
	for _, key := range []string{zoneKey, rackKey, "pool", "generation"} {
		if d.in(9) {
			delete(labels, key)
		}
	}
	switch d.IntN(40) {
	case 0:
		delete(labels, hostKey)
	case 1:
		labels[zoneKey] = "" // a value like any other
	case 2:
		labels[hostKey] = "n0" // a duplicate name is allowed
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	n.Spec.Unschedulable = closed && d.in(4)
	if tainted && d.in(3) {
		n.Spec.Taints = some(d, 2,
			corev1.Taint{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule},
			corev1.Taint{Key: "dedicated", Value: "web", Effect: corev1.TaintEffectNoExecute},
			corev1.Taint{Key: "flaky", Effect: corev1.TaintEffectNoExecute},
			corev1.Taint{Key: "busy", Value: "very", Effect: corev1.TaintEffectPreferNoSchedule},
		)
	}
	if n.Spec.Unschedulable && d.in(2) { // the node controller has come round
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func (d dice) podLabels() map[string]string {
	labels := map[string]string{"app": pick(d, "a", "a", "a", "b"), "rev": pick(d, "1", "2"), "tier": pick(d, "front", "back")}
	for _, key := range []string{"app", "rev", "tier"} {
		if d.in(12) {
			delete(labels, key)
		}
	}
	return labels
}

// pod makes a kind of pods. A plain one only has rules of its own now and then.
func (d dice) pod(plain bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: home, Labels: d.podLabels()}}
	spread, anti, near, where := !d.in(4), d.in(5), d.in(6), d.in(3)
	if plain {
		spread, anti, near, where = false, d.in(5), false, false
	}
	if spread {
		for range 1 + d.IntN(3) {
			if c := d.spread(); !slices.ContainsFunc(p.Spec.TopologySpreadConstraints, func(had corev1.TopologySpreadConstraint) bool {
				return had.TopologyKey == c.TopologyKey && had.WhenUnsatisfiable == c.WhenUnsatisfiable // which the API refuses
			}) {
				p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, c)
			}
		}
	}
	affinity := &corev1.Affinity{}
	if anti {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.terms()}
	}
	if near {
		affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: d.terms()}
	}
	if where {
		affinity.NodeAffinity = d.nodeAffinity()
		p.Spec.NodeSelector = d.nodeSelector()
	}
	if *affinity != (corev1.Affinity{}) {
		p.Spec.Affinity = affinity
	}
	p.Spec.Tolerations = d.tolerations()
	return p
}

func (d dice) spread() corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: int32(1 + d.IntN(3)), TopologyKey: pick(d, topologyKeys...), LabelSelector: d.selector(),
		WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
	}
	if c.WhenUnsatisfiable == corev1.DoNotSchedule && d.in(3) { // minDomains is for those only
		c.MinDomains = new(int32(1 + d.IntN(4)))
	}
	if d.in(3) {
		c.NodeAffinityPolicy = new(pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
	}
	if d.in(2) {
		c.NodeTaintsPolicy = new(pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore))
	}
	if c.LabelSelector != nil && d.in(3) {
		c.MatchLabelKeys = some(d, 2, unused(c.LabelSelector, "rev", "tier", "nowhere")...)
	}
	return c
}

// unused leaves out the keys that a selector has: the API wants label keys to be others.
func unused(s *metav1.LabelSelector, keys ...string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		_, used := s.MatchLabels[key]
		return used || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
	})
}

// selector chooses pods: mostly those of one app, now and then everything, or nothing (nil).
func (d dice) selector() *metav1.LabelSelector {
	switch d.IntN(12) {
	case 0:
		return nil
	case 1:
		return &metav1.LabelSelector{}
	case 2, 3, 4:
		return &metav1.LabelSelector{MatchExpressions: some(d, 2,
			metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "c"}},
			metav1.LabelSelectorRequirement{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b"}},
			metav1.LabelSelectorRequirement{Key: "rev", Operator: metav1.LabelSelectorOpExists},
			metav1.LabelSelectorRequirement{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist},
		)}
	case 5:
		return &metav1.LabelSelector{
			MatchLabels:      map[string]string{"app": pick(d, "a", "b")},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"front"}}},
		}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(d, "a", "a", "b")}}
}

// terms are of affinity to other pods, or of anti-affinity.
func (d dice) terms() (all []corev1.PodAffinityTerm) {
	for range 1 + d.IntN(2) {
		t := corev1.PodAffinityTerm{TopologyKey: pick(d, topologyKeys...), LabelSelector: d.selector()}
		if t.LabelSelector != nil && d.in(3) {
			t.MatchLabelKeys = some(d, 1, unused(t.LabelSelector, "rev", "nowhere")...)
		}
		if t.LabelSelector != nil && d.in(3) {
			t.MismatchLabelKeys = some(d, 1, unused(t.LabelSelector, "tier", "nowhere-else")...)
		}
		switch d.IntN(40) {
		case 0:
			t.Namespaces = []string{home}
		case 1:
			t.Namespaces = []string{home, elsewhere}
		case 2:
			t.NamespaceSelector = &metav1.LabelSelector{}
		}
		all = append(all, t)
	}
	return all
}

func (d dice) nodeSelector() map[string]string {
	if d.in(3) {
		return map[string]string{"pool": pick(d, "x", "y")}
	}
	return nil
}

func (d dice) nodeAffinity() *corev1.NodeAffinity {
	if d.in(4) {
		return nil
	}
	required := &corev1.NodeSelector{}
	for range 1 + d.IntN(2) {
		required.NodeSelectorTerms = append(required.NodeSelectorTerms, d.nodeTerm())
	}
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}
}

func (d dice) nodeTerm() (t corev1.NodeSelectorTerm) {
	t.MatchExpressions = some(d, 2,
		corev1.NodeSelectorRequirement{Key: "pool", Operator: corev1.NodeSelectorOpIn, Values: []string{"x", "y"}},
		corev1.NodeSelectorRequirement{Key: "pool", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"z", pick(d, "x", "w", "not a label value")}},
		corev1.NodeSelectorRequirement{Key: zoneKey, Operator: corev1.NodeSelectorOpExists},
		corev1.NodeSelectorRequirement{Key: rackKey, Operator: corev1.NodeSelectorOpDoesNotExist},
		corev1.NodeSelectorRequirement{Key: "generation", Operator: corev1.NodeSelectorOpGt, Values: []string{pick(d, "3", "6", "many", "-1")}},
		corev1.NodeSelectorRequirement{Key: "generation", Operator: corev1.NodeSelectorOpLt, Values: []string{pick(d, "8", "12")}},
	)
	if d.in(8) {
		t.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
			Values: []string{pick(d, "n0", "n1", "n9")},
		}}
	}
	return t
}

func (d dice) tolerations() []corev1.Toleration {
	if d.in(2) {
		return nil
	}
	return some(d, 2,
		corev1.Toleration{Key: "dedicated", Value: "db", Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "web"},
		corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(3))},
		corev1.Toleration{Key: "flaky"},
		corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		corev1.Toleration{Operator: corev1.TolerationOpExists},
	)
}

// admit does to a new pod what the API server does: it writes the pod's own values of label keys into the selectors. For
// spread constraints it does so since v1.34; the scheduler has looked at them itself before, and does still.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#matchlabelkeys
func admit(p *corev1.Pod) *corev1.Pod {
	merge := func(s *metav1.LabelSelector, keys []string, operator metav1.LabelSelectorOperator) {
		for _, key := range keys {
			if value, has := p.Labels[key]; has && s != nil {
				s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}})
			}
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		if c := &p.Spec.TopologySpreadConstraints[i]; i%2 == 0 {
			merge(c.LabelSelector, c.MatchLabelKeys, metav1.LabelSelectorOpIn)
		}
	}
	if a := p.Spec.Affinity; a != nil {
		var terms []*corev1.PodAffinityTerm
		if a.PodAffinity != nil {
			for i := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				terms = append(terms, &a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
			}
		}
		if a.PodAntiAffinity != nil {
			for i := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
				terms = append(terms, &a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i])
			}
		}
		for _, t := range terms {
			merge(t.LabelSelector, t.MatchLabelKeys, metav1.LabelSelectorOpIn)
			merge(t.LabelSelector, t.MismatchLabelKeys, metav1.LabelSelectorOpNotIn)
		}
	}
	return p
}
