package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

var unmeetableAntiAffinity = Rule{
	ID: "unmeetable-anti-affinity", Severity: Error,
	Title: "required anti-affinity cannot be met",
	Why: "Pods that must not share a domain need one domain each. Any further pod stays Pending for ever. A rollout that must " +
		"start a new pod before it ends an old one needs one more domain, and hangs without it.",
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
			ops, caution := s.preferApart([]int{i}, s.Replicas-room)
			s.find(Finding{
				Evidence: fmt.Sprintf("its %d pods need as many domains of %s, and %d can take them", s.Replicas, t.TopologyKey, room),
				Fix:      s.patchOps(ops), Caution: sentences(caution, s.rollout()),
			})
		case s.surges() && s.Replicas+1 > room && !slices.Contains(t.MatchLabelKeys, revisionKey):
			ops, _ := s.letGo(0)
			s.find(Finding{
				Evidence: fmt.Sprintf("a rollout starts a new pod while all %d old ones are there, and only %d domains of %s can take them",
					s.Replicas, room, t.TopologyKey),
				Fix: s.patchOps(ops), Caution: "during a rollout it then runs one pod fewer than wanted",
			})
		}
	}
}

const (
	pathPodAntiAffinity = pathPod + "/affinity/podAntiAffinity"
	pathAntiAffinity    = pathPodAntiAffinity + "/requiredDuringSchedulingIgnoredDuringExecution"
	pathPreferredApart  = pathPodAntiAffinity + "/preferredDuringSchedulingIgnoredDuringExecution"
)

// antiAffinity returns the required terms of pod anti-affinity.
func (s *subject) antiAffinity() []corev1.PodAffinityTerm {
	if s.Template.Spec.Affinity == nil || s.Template.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	return s.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// roomApart returns how many pods fit when no two may share a domain. The number is not bounded if some node lacks the label:
// such a node is no domain, and takes any number of pods.
func (s *subject) roomApart(key string) (room int, bounded bool) {
	homes := s.homes()
	for _, n := range homes.nodes {
		if _, labelled := n.Labels[key]; !labelled {
			return 0, false
		}
	}
	return len(homes.domains(key)), true
}

// surges reports whether a rollout must start a pod before it may end one.
func (s *subject) surges() bool {
	return s.Kind == Deployment && s.Update.Rolling && s.Update.MaxSurge > 0 && s.Update.MaxUnavailable == 0
}

// letGo returns the operations that raise maxUnavailable, so that a Deployment's rollout ends old pods to make room for new
// ones. Anti-affinity is symmetric: an old pod keeps new ones out of its domain, whatever the new template says. pending is how
// many pods are unavailable already.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity
func (s *subject) letGo(pending int) (ops []op, caution string) {
	if s.Kind != Deployment || !s.Update.Rolling || s.Update.MaxUnavailable > pending {
		return nil, ""
	}
	return []op{{"add", pathMaxUnavailable, pending + 1}}, fmt.Sprintf(
		"old pods keep new ones out of their domains, so rollouts may have %s unavailable: reset maxUnavailable after this rollout",
		prose.Count(pending+1, "pod"))
}

const pathMaxUnavailable = "/spec/strategy/rollingUpdate/maxUnavailable"

// preferApart turns required terms into preferences of the same kind. It also lets the rollout of that change proceed although
// that many pods are pending.
func (s *subject) preferApart(terms []int, pending int) (ops []op, caution string) {
	given, caution := s.letGo(pending)
	return append(s.asPreferences(terms), given...),
		sentences("this makes it a preference, and pods share a domain where there is no other place", caution)
}

func (s *subject) asPreferences(terms []int) (ops []op) {
	var preferences []corev1.WeightedPodAffinityTerm
	for _, i := range slices.Backward(terms) { // backward, so that a removal does not shift the indexes still to come
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
