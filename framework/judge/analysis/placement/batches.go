package placement

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// Batches splits pods, given in the order in which they were bound, into batches between which the order is certain: each pod of
// a batch was bound within evidence.WatchSkew of the one before. Pods whose rules are not about each other are in different
// batches.
func Batches(pods []*PlacedPod) (all [][]*PlacedPod) {
	for _, related := range relatedGroups(pods) {
		for i, p := range related {
			if i == 0 || p.Bound.At-related[i-1].Bound.At >= evidence.WatchSkew {
				all = append(all, nil)
			}
			all[len(all)-1] = append(all[len(all)-1], p)
		}
	}
	return all
}

// kind is equal for pods that the scheduler treats alike, and that its rules for other pods treat alike.
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

// relatedGroups groups pods so that no rule of a pod is about a pod in another group. Each pod of a StatefulSet is of a kind of
// its own, because of its labels, and yet its rules are about the others.
func relatedGroups(pods []*PlacedPod) (groups [][]*PlacedPod) {
	var first []*PlacedPod // of each kind
	var group []int        // of each kind
	kinds := make(map[string]int)
	of := make([]int, len(pods))
	for i, p := range pods {
		text := p.kind()
		kind, seen := kinds[text]
		if !seen {
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
	at := make(map[int]int) // the index in groups of each group
	for i, p := range pods {
		n, seen := at[group[of[i]]]
		if !seen {
			n = len(groups)
			at[group[of[i]]] = n
			groups = append(groups, nil)
		}
		groups[n] = append(groups[n], p)
	}
	return groups
}

// concerns reports whether one of the pod's hard rules is about another pod.
func (p *PlacedPod) concerns(other *PlacedPod) bool {
	if p.Namespace != other.Namespace {
		return false
	}
	v := &schedulingView{pod: p}
	return slices.ContainsFunc(other.labels, func(labels map[string]string) bool {
		return slices.ContainsFunc(p.Rules.Spread, func(c spreadRule) bool { return v.about(c, labels) }) ||
			slices.ContainsFunc(slices.Concat(p.Rules.affinity, p.Rules.antiAffinity), func(t podTerm) bool { return t.matches(labels) })
	})
}
