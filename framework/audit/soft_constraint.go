package audit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var softConstraintViolated = Rule{
	ID: "soft-constraint-violated", Severity: Warning,
	Title: "a soft constraint is violated now",
	Why: "ScheduleAnyway and preferred anti-affinity are wishes: the scheduler grants them when it can, and nothing mends " +
		"them later. Judged are the subject's own pods, on domains that take pods now; what harder constraints force is no violation.",
	Doc: docSpread, needs: []Resource{Pods, Nodes}, check: checkSoftConstraintViolated,
}

func checkSoftConstraintViolated(s *subject) {
	e := &edit{subject: s}
	var evidence []string
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if hard(c) || !s.own(c.LabelSelector) {
			continue
		}
		allowed := max(int(c.MaxSkew), s.forced(c.TopologyKey))
		if counts := s.tally(c.TopologyKey, s.largest(c.MatchLabelKeys)); extent(counts) > allowed {
			evidence = append(evidence, fmt.Sprintf("over %s the pods differ by %d, and %d is wished for: %s",
				c.TopologyKey, extent(counts), allowed, amounts(counts)))
			e.require(c.TopologyKey, int32(allowed))
		}
	}
	for _, key := range s.wishedApart() {
		if counts := s.tally(key, s.placed()); crowded(counts) {
			evidence = append(evidence, fmt.Sprintf("pods that prefer to be apart share %s while others are empty: %s", key, amounts(counts)))
			e.require(key, int32(max(1, s.forced(key))))
		}
	}
	if len(evidence) == 0 {
		return
	}
	f := Finding{Evidence: strings.Join(evidence, "; "), Fix: s.patchOps(e.done())}
	if f.Fix == nil {
		f.Fix, f.Caution = []Step{s.restart()}, "a hard constraint asks for it already, but binds only pods that are being placed"
	} else {
		f.Caution = sentences("this makes the wish strict: where a domain has no room, pods stay Pending; "+
			"`"+s.restart().Command+"` asks for the wish once more, and promises nothing", s.rollout(), s.volumes())
	}
	s.find(f)
}

// largest of the groups that matchLabelKeys tell apart: in a rollout, the revision that most pods are of.
func (s *subject) largest(keys []string) (pods []corev1.Pod) {
	groups := map[string][]corev1.Pod{}
	for _, p := range s.placed() {
		var values []string
		for _, key := range keys {
			values = append(values, p.Labels[key])
		}
		group := strings.Join(values, "\n")
		groups[group] = append(groups[group], p)
		if g := groups[group]; len(g) > len(pods) {
			pods = g
		}
	}
	return pods
}

// forced is the skew over key that the hard constraints over other topologies may force: zones with as many pods each
// and nodes of unequal number leave nodes unequally full. 1 where they force none.
func (s *subject) forced(key string) int {
	skew := 1
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) || c.TopologyKey == key || !s.own(c.LabelSelector) {
			continue
		}
		inside := map[string][]*corev1.Node{}
		for _, n := range s.open() {
			if outer, labelled := n.Labels[c.TopologyKey]; labelled {
				inside[outer] = append(inside[outer], n)
			}
		}
		var sizes []int
		for _, nodes := range inside {
			sizes = append(sizes, max(len(domains(nodes, key)), 1))
		}
		if len(sizes) > 0 && slices.Min(sizes) != slices.Max(sizes) {
			each := ceilDiv(len(s.placed()), len(sizes))
			skew = max(skew, ceilDiv(each, slices.Min(sizes)))
		}
	}
	return skew
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// wishedApart are the topologies over which the subject's pods prefer to be apart from each other.
func (s *subject) wishedApart() (keys []string) {
	if s.Template.Spec.Affinity == nil || s.Template.Spec.Affinity.PodAntiAffinity == nil {
		return nil
	}
	for _, t := range s.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		if key := t.PodAffinityTerm.TopologyKey; s.ownTerm(t.PodAffinityTerm) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// crowded tells whether a domain has two while another has none.
func crowded(counts map[string]int) bool {
	most, least := 0, 1
	for _, n := range counts {
		most, least = max(most, n), min(least, n)
	}
	return most > 1 && least == 0
}
