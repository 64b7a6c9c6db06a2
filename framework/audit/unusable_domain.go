package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
)

var unusableDomain = Rule{
	ID: "unusable-domain", Severity: Warning,
	Title: "nodes that cannot take its pods, such as control-plane nodes, count as domains",
	Why: "A hard spread constraint compares with the emptiest domain. If a domain stays empty for ever (by default node taints " +
		"are ignored), the others can have at most maxSkew pods each, and the rest stays Pending. " +
		"An Error if more replicas than that are wanted already.",
	Doc: docSpread, needs: []Resource{Nodes}, check: checkUnusableDomain,
}

func checkUnusableDomain(s *subject) {
	severity, e := Warning, edit{subject: s}
	var evidence []string
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) {
			continue
		}
		dead, nodes := s.dead(c)
		if len(dead) == 0 {
			continue
		}
		room := int(c.MaxSkew) * len(s.homes().domains(c.TopologyKey))
		evidence = append(evidence, fmt.Sprintf("of %s, %s can take none of its pods (%s): the others may have %s together, and it wants %d",
			c.TopologyKey, listNames(dead), listNames(nodes), prose.Count(room, "pod"), s.Replicas))
		if s.Replicas > room {
			severity = Error
		}
		s.honor(&e, i, c)
	}
	if len(evidence) > 0 {
		s.find(Finding{Severity: severity, Evidence: listNames(evidence), Fix: s.patchOps(e.done()), Caution: s.rollout()})
	}
}

// honor makes constraint i count only the domains that the subject's pods can go to.
func (s *subject) honor(e *edit, i int, c corev1.TopologySpreadConstraint) {
	if !honors(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) {
		e.change(i, "nodeAffinityPolicy", corev1.NodeInclusionPolicyHonor)
	}
	if !honors(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) {
		e.change(i, "nodeTaintsPolicy", corev1.NodeInclusionPolicyHonor)
	}
}

// dead returns the domains that a constraint counts although none of their nodes can take the subject's pods, and those nodes
// with the reason.
func (s *subject) dead(c corev1.TopologySpreadConstraint) (dead, nodes []string) {
	alive := s.homes().domains(c.TopologyKey)
	counted := s.counted(c)
	for _, d := range domains(counted, c.TopologyKey) {
		if _, is := slices.BinarySearch(alive, d); is {
			continue
		}
		dead = append(dead, d)
		for _, n := range counted {
			if n.Labels[c.TopologyKey] == d {
				nodes = append(nodes, n.Name+" "+s.excludes(n))
			}
		}
	}
	return dead, nodes
}

// counted returns the nodes whose domains the scheduler counts for a hard constraint: those with the topology labels of all
// hard constraints, except those that the constraint's node inclusion policies exclude. Taints that come and go with a node's
// health are ignored.
func (s *subject) counted(c corev1.TopologySpreadConstraint) (nodes []*corev1.Node) {
	for _, n := range s.all.nodes {
		labelled := !slices.ContainsFunc(s.Template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			_, there := n.Labels[c.TopologyKey]
			return hard(c) && !there
		})
		out := honors(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) && !admits(s.Template.Spec, n) ||
			honors(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) && repelledBy(s.Template.Spec, n, lasting) != ""
		if labelled && !out {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// excludes returns why a node cannot take the subject's pods.
func (s *subject) excludes(n *corev1.Node) string {
	if key := repelledBy(s.Template.Spec, n, lasting); key != "" {
		return "is tainted " + key
	}
	return "is not selected"
}
