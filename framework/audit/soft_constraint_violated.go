package audit

import (
	"fmt"
	"slices"
	"strings"
)

var softConstraintViolated = Rule{
	ID: "soft-constraint-violated", Severity: Warning,
	Title: "a soft constraint is violated now",
	Why: "ScheduleAnyway and preferred anti-affinity are preferences: the scheduler follows them when it can, and nothing corrects " +
		"the placement later. The rule counts the workload's own pods on domains that take pods now. A skew that hard constraints " +
		"force is no violation.",
	Doc: docSpread, needs: []Resource{Pods, Nodes}, check: checkSoftConstraintViolated,
}

func checkSoftConstraintViolated(s *subject) {
	e := &edit{subject: s}
	var evidence []string
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if hard(c) || !s.own(c.LabelSelector) {
			continue
		}
		if k := s.skew(c); k.exceeded() {
			evidence = append(evidence, fmt.Sprintf("the skew over %s is %d, and %d is preferred: %s",
				c.TopologyKey, k.Skew, k.Allowed, amounts(s.tally(c.TopologyKey, s.largest(c.MatchLabelKeys)))))
			e.require(c.TopologyKey, int32(k.Allowed))
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
		f.Fix, f.Caution = []Step{s.restart()}, "a hard constraint requires it already, but applies only when pods are scheduled"
	} else {
		f.Caution = sentences("this makes the preference a hard constraint: where a domain has no room, pods stay Pending; "+
			"`"+s.restart().Command+"` tries the preference once more, without a guarantee", s.rollout(), s.volumes())
	}
	s.find(f)
}

// largest returns the pods of the largest group with equal values of matchLabelKeys: in a rollout, the revision with the most
// pods.
func (s *subject) largest(keys []string) (pods []*Pod) {
	if len(keys) == 0 {
		return s.placed()
	}
	groups := map[string][]*Pod{}
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

// forced returns the skew over key that hard constraints over other topologies may force; at least 1. If zones have equally
// many pods but different numbers of nodes, their nodes have different numbers of pods.
func (s *subject) forced(key string) int {
	skew := 1
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if !hard(c) || c.TopologyKey == key || !s.own(c.LabelSelector) {
			continue
		}
		in := s.open().inside(c.TopologyKey, key)
		if in.least != in.most {
			each := ceilDiv(len(s.placed()), in.outer)
			skew = max(skew, ceilDiv(each, in.least))
		}
	}
	return skew
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// wishedApart returns the topology keys of the subject's preferred anti-affinity to its own pods.
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

// crowded reports whether a domain has two pods or more while another has none.
func crowded(counts map[string]int) bool {
	most, least := 0, 1
	for _, n := range counts {
		most, least = max(most, n), min(least, n)
	}
	return most > 1 && least == 0
}
