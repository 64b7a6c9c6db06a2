package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

var unmeetableAntiAffinity = Rule{
	ID: "unmeetable-anti-affinity", Severity: Error,
	Title: "required anti-affinity cannot be met",
	Why: "Pods that must not share a domain need a domain each. Those beyond stay Pending for ever; and a rollout that must " +
		"start a new pod before it ends an old one needs one domain more, and hangs without it.",
	Doc: docAffinity, needs: []Resource{Nodes}, check: checkUnmeetableAntiAffinity,
}

func checkUnmeetableAntiAffinity(s *subject) {
	for i, t := range s.antiAffinity() {
		if !s.ownTerm(t) {
			continue
		}
		room, bounded := s.roomApart(t.TopologyKey)
		switch {
		case !bounded:
		case s.Replicas > room:
			s.find(Finding{
				Evidence: fmt.Sprintf("its %d pods need as many domains of %s, and %d can take them", s.Replicas, t.TopologyKey, room),
				Fix:      s.patchOps(s.preferApart([]int{i})), Caution: sentences("this makes it a preference, which crowds pods where it must", s.rollout()),
			})
		case s.surges() && s.Replicas+1 > room && !slices.Contains(t.MatchLabelKeys, revisionKey):
			term := fmt.Sprintf("%s/%d", pathAntiAffinity, i)
			s.find(Finding{
				Evidence: fmt.Sprintf("a rollout starts a new pod while all %d old ones are there, and only %d domains of %s can take them",
					s.Replicas, room, t.TopologyKey),
				Fix: s.patchOps([]op{
					{"test", term + "/topologyKey", t.TopologyKey},
					{"add", term + "/matchLabelKeys", append(slices.Clone(t.MatchLabelKeys), revisionKey)},
				}),
				Caution: sentences("old and new pods may share a domain while a rollout lasts", s.rollout()),
			})
		}
	}
}

const (
	pathPodAntiAffinity = pathPod + "/affinity/podAntiAffinity"
	pathAntiAffinity    = pathPodAntiAffinity + "/requiredDuringSchedulingIgnoredDuringExecution"
	pathPreferredApart  = pathPodAntiAffinity + "/preferredDuringSchedulingIgnoredDuringExecution"
)

// antiAffinity are the required terms.
func (s *subject) antiAffinity() []corev1.PodAffinityTerm {
	if s.Template.Spec.Affinity == nil || s.Template.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return s.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// roomApart is how many pods fit when no two share a domain; a node without the label is no domain, and takes any number.
func (s *subject) roomApart(key string) (room int, bounded bool) {
	homes := s.homes()
	for _, n := range homes {
		if _, labelled := n.Labels[key]; !labelled {
			return 0, false
		}
	}
	return len(domains(homes, key)), true
}

// surges tells whether a rollout starts a pod before it may end one.
func (s *subject) surges() bool {
	return s.Kind == Deployment && s.Update.Rolling && s.Update.MaxSurge > 0 && s.Update.MaxUnavailable == 0
}

// preferApart turns required terms into preferences of the same kind.
func (s *subject) preferApart(terms []int) (ops []op) {
	var preferences []corev1.WeightedPodAffinityTerm
	for _, i := range slices.Backward(terms) { // backward: an index must stay what it was
		t := s.antiAffinity()[i]
		preferences = append(preferences, corev1.WeightedPodAffinityTerm{Weight: 100, PodAffinityTerm: t})
		term := fmt.Sprintf("%s/%d", pathAntiAffinity, i)
		ops = append(ops, op{"test", term + "/topologyKey", t.TopologyKey}, op{Op: "remove", Path: term})
	}
	if len(s.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution) == 0 {
		return append(ops, op{"add", pathPreferredApart, preferences})
	}
	for _, p := range preferences {
		ops = append(ops, op{"add", pathPreferredApart + "/-", p})
	}
	return ops
}
