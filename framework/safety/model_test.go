package disturb

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

const everyFault = "rollout delete-pod scale drain cordon node-kill"

// Each rule must allow what would not go wrong: model applications, and each fault that their constraints leave a place for. What is refused is refused by
// rule 8 alone, and only where the scheduler would place no pod.
func TestModelApplicationsPassEveryRule(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*world)
		goes   string // the faults of which no rule refuses anything
		reason string // why the others are refused
	}{
		"three replicas": {func(*world) {}, everyFault, ""},
		"a zone each, and one node in each zone": {func(w *world) { zones(w); w.spread("") }, "rollout delete-pod scale cordon",
			"no other node would take its replacement"},
		"a zone each by revision, and one node in each zone": {func(w *world) { zones(w); w.spread("abc") }, "rollout delete-pod scale cordon",
			"against maxSkew 1 over topology.kubernetes.io/zone"},
		"a zone each by revision, and two nodes in each zone": {func(w *world) {
			w.Nodes = append(w.Nodes, node("x1"), node("x2"), node("x3"))
			zones(w)
			w.spread("abc")
		}, everyFault, ""},
		"a node each, and a rollout may take one pod": {func(w *world) { w.apart("") }, "rollout delete-pod cordon",
			"against its anti-affinity over kubernetes.io/hostname"},
		"a node each, and a rollout may take none": {func(w *world) { w.apart(""); takesNone(w) }, "delete-pod cordon",
			"against its anti-affinity over kubernetes.io/hostname"},
		"a node each by revision, and a rollout may take none": {func(w *world) { w.apart("abc"); takesNone(w) }, "rollout delete-pod cordon",
			"against its anti-affinity over kubernetes.io/hostname"},
		"nodes that are full with a pod, and a rollout may take one": {func(w *world) { full(w) }, "rollout delete-pod cordon", "it has 0 of cpu left, and 500m are requested"},
		"nodes that are full with a pod, and a rollout may take none": {func(w *world) { full(w); takesNone(w) }, "delete-pod cordon",
			"it has 0 of cpu left, and 500m are requested"},
		"volumes of their nodes": {func(w *world) { w.each("web", func(p *corev1.Pod) { claimed(w, p, p.Spec.NodeName) }) }, "rollout delete-pod scale cordon",
			"cannot be used there"},
		"an image that only the pod's node lists, and no other node would take it": {func(w *world) {
			w.apart("")
			for i := range w.Nodes {
				w.Nodes[i].Status.Images = nil
			}
		}, "rollout delete-pod cordon", "against its anti-affinity"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, fault := range strings.Fields(everyFault) {
				w := newWorld(fault)
				test.change(w)
				goes, refused := strings.Contains(" "+test.goes+" ", " "+fault+" "), w.plan().refusals()
				if goes != (len(refused) == 0) {
					t.Errorf("%s: want it to go %t; refused: %+v", fault, goes, refused)
				}
				for _, r := range refused {
					if r.Rule != recreatable.Number || !strings.Contains(fmt.Sprint(refused), test.reason) {
						t.Errorf("%s: want rule 8 to refuse for %q: %+v", fault, test.reason, r)
					}
				}
			}
		})
	}
}

// zones puts the workers into the zones a, b and c, in turn.
func zones(w *world) {
	for i := range w.Nodes[1:] {
		w.Nodes[1+i].Labels[corev1.LabelTopologyZone] = string(rune('a' + i%3))
	}
}

// revise gives the pods the label of a revision, unless it is empty, and a selector of them as the API server has completed it.
func (w *world) revise(revision string) (s *metav1.LabelSelector, keys []string) {
	s = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	if revision == "" {
		return s, nil
	}
	key := appsv1.DefaultDeploymentUniqueLabelKey
	w.each("web", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "web", key: revision} })
	s.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{revision}}}
	return s, []string{key}
}

// spread gives the pods a hard constraint over zones: for pods of each revision by themselves, or, if it is empty, for all. A rollout may take no pod.
func (w *world) spread(revision string) {
	selector, keys := w.revise(revision)
	w.each("web", func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector.DeepCopy(), MatchLabelKeys: keys,
		}}
	})
	takesNone(w)
}

// apart keeps pods of a revision, or all of them, from sharing a node.
func (w *world) apart(revision string) {
	selector, keys := w.revise(revision)
	w.each("web", func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: selector.DeepCopy(), MatchLabelKeys: keys,
			}},
		}}
	})
}

// takesNone makes a rollout begin with one pod more.
func takesNone(w *world) {
	none := intstr.FromInt32(0)
	w.web().Spec.Strategy.RollingUpdate.MaxUnavailable = &none
}

// full leaves no node more room than its pod has.
func full(w *world) {
	for i := range w.Nodes {
		w.Nodes[i].Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("500m")
	}
}
