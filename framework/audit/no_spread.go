package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/prose"
)

var noSpread = Rule{
	ID: "no-spread", Severity: Warning,
	Title: "its replicas are spread by luck",
	Why: "Without a spread constraint or anti-affinity of its own, the scheduler only prefers different nodes and zones, and gives the wish up for a free node or a cached " +
		"image: after the next rollout or drain all replicas may be on one node. While they are, the rules one-node and one-zone report it instead.",
	Doc: docSpread, needs: []Resource{Pods, Nodes}, check: checkNoSpread,
}

func checkNoSpread(s *subject) {
	zones := s.homes().domains(zoneKey)
	in, unlabelled := s.zones()
	oneOfSeveral := len(zones) > 1 && len(in) < 2 && len(unlabelled) == 0
	if s.Replicas < 2 || s.spreads() || len(s.hosts()) < 2 || oneOfSeveral {
		return
	}
	e := &edit{subject: s}
	if len(zones) > 1 {
		e.prefer(zoneKey)
	}
	e.prefer(hostKey)
	s.find(Finding{
		Evidence: fmt.Sprintf("no spread constraint and no anti-affinity is about its %d replicas, which happen to be on %s", s.Replicas, prose.Count(len(s.hosts()), "node")),
		Fix:      s.patchOps(e.done()), Caution: s.rollout(),
	})
}

// spreads reports whether a constraint or anti-affinity is about the subject's own pods.
func (s *subject) spreads() bool {
	preferred := func() []corev1.WeightedPodAffinityTerm {
		if a := s.Template.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			return a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
		}
		return nil
	}
	return slices.ContainsFunc(s.Template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool { return s.own(c.LabelSelector) }) ||
		slices.ContainsFunc(s.antiAffinity(), s.ownTerm) ||
		slices.ContainsFunc(preferred(), func(t corev1.WeightedPodAffinityTerm) bool { return s.ownTerm(t.PodAffinityTerm) })
}
