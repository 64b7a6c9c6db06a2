package placement

import (
	"fmt"
	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"maps"
	"slices"
)

// Bursts splits pods, given in the order in which they were bound, where the order is not in doubt: each pod of a burst
// was bound within the skew of the one before. Pods that no rule of the others is about are in bursts of their own.
func Bursts(pods []*PlacedPod) (all [][]*PlacedPod) {
	for _, related := range relatives(pods) {
		for i, p := range related {
			if i == 0 || p.Bound.At-related[i-1].Bound.At >= evidence.WatchSkew {
				all = append(all, nil)
			}
			all[len(all)-1] = append(all[len(all)-1], p)
		}
	}
	return all
}

// kind tells pods apart that the scheduler treats in different ways, or that its rules for others tell apart.
func (p *PlacedPod) kind() string {
	text := fmt.Sprintf("%q %s", p.Namespace, p.rulesText)
	for _, labels := range append([]map[string]string{p.Labels}, p.labels...) {
		text += "\n"
		for _, key := range slices.Sorted(maps.Keys(labels)) {
			text += fmt.Sprintf(" %q=%q", key, labels[key])
		}
	}
	return text
}

// relatives groups pods so that no rule of a pod is about one in another group. Each pod of a StatefulSet is of a kind of
// its own, and its rules are about the others all the same.
func relatives(pods []*PlacedPod) (groups [][]*PlacedPod) {
	var first []*PlacedPod // of each kind
	var group []int        // of each kind
	kinds := make(map[string]int)
	of := make([]int, len(pods))
	for i, p := range pods {
		text := p.kind()
		kind, known := kinds[text]
		if !known {
			kind = len(first)
			kinds[text] = kind
			group = append(group, kind)
			for k, other := range first {
				if from, to := group[k], group[kind]; from != to && (p.concerns(other) || other.concerns(p)) {
					for j := range group {
						if group[j] == from {
							group[j] = to
						}
					}
				}
			}
			first = append(first, p)
		}
		of[i] = kind
	}
	at := make(map[int]int) // of each group, where it is
	for i, p := range pods {
		n, known := at[group[of[i]]]
		if !known {
			n = len(groups)
			at[group[of[i]]] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], p)
	}
	return groups
}

// concerns tells whether one of the pod's hard rules is about another pod.
func (p *PlacedPod) concerns(other *PlacedPod) bool {
	if p.Namespace != other.Namespace {
		return false
	}
	s := &scene{pod: p}
	return slices.ContainsFunc(other.labels, func(labels map[string]string) bool {
		return slices.ContainsFunc(p.Rules.Spread, func(c spreadRule) bool { return s.about(c, labels) }) ||
			slices.ContainsFunc(slices.Concat(p.Rules.Affinity.Pod.Required, p.Rules.Affinity.Anti.Required), func(t podTerm) bool {
				return t.LabelSelector.matches(labels)
			})
	})
}
