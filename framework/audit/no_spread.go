package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
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
	spread := slices.ContainsFunc(s.Template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool { return s.own(c.LabelSelector) }) ||
		slices.ContainsFunc(s.antiAffinity(), s.ownTerm) || len(s.wishedApart()) > 0
	if spread || s.Replicas < 2 || len(s.hosts()) < 2 || oneOfSeveral {
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
