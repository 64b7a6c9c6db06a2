package invariant

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// maxOrders bounds how many bindings are weighed in the search for an order of those that lie close together. It is
// enough for every order of eight pods; where it is not enough, nothing is concluded.
const maxOrders = 2000

// burst is a number of pods of one kind, each bound within the skew of the one before. Taken one by one their bindings
// may all look possible, because each may have been the first. But the scheduler decides on one pod after the other, and
// counts those that it decided on before: if in no order all of them are legal, a rule was broken.
type burst struct {
	scenes []*scene // in the order of the record; nil: never accused
	pods   []*placedPod
	weighs int             // left
	dead   map[string]bool // sets of pods that cannot be completed, by their bits
}

// bursts splits pods of one kind, in the order in which they were bound, where the order is not in doubt.
func bursts(pods []*placedPod) (all [][]*placedPod) {
	for i, p := range pods {
		if i == 0 || p.bound.at-pods[i-1].bound.at >= watchSkew {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

// kind tells pods apart that the scheduler treats in different ways.
func (p *placedPod) kind() string {
	text := fmt.Sprintf("%q %s", p.Namespace, p.rulesText)
	for _, key := range slices.Sorted(maps.Keys(p.Labels)) {
		text += fmt.Sprintf(" %q=%q", key, p.Labels[key])
	}
	return text
}

// ordered tells whether the pods of a burst can have been bound in some order. Those that are not accused may have been
// bound anyhow.
func (l *placementLedger) ordered(pods []*placedPod, accused func(*placedPod) bool) bool {
	b := &burst{pods: pods, weighs: maxOrders, dead: make(map[string]bool)}
	for _, p := range pods {
		var s *scene
		if accused(p) {
			s = l.scene(p, watchSkew)
		}
		b.scenes = append(b.scenes, s)
	}
	return b.complete(make([]byte, len(pods)), 0)
}

// complete tells whether the pods that are not yet placed can be, one after the other. What was told a skew or more
// before another was decided before it.
func (b *burst) complete(placed []byte, n int) bool {
	if n == len(b.pods) || b.weighs <= 0 {
		return true
	}
	if b.dead[string(placed)] {
		return false
	}
	first := history.Offset(-1)
	for i, p := range b.pods {
		if placed[i] == 1 {
			continue
		}
		if first < 0 {
			first = p.bound.at
		}
		if p.bound.at-first >= watchSkew {
			break
		}
		if !b.legal(i, placed) {
			continue
		}
		placed[i] = 1
		done := b.complete(placed, n+1)
		placed[i] = 0
		if done {
			return true
		}
	}
	b.dead[string(placed)] = true
	return false
}

// legal tells whether a pod may have been placed right after those that are.
func (b *burst) legal(i int, placed []byte) bool {
	s := b.scenes[i]
	if s == nil {
		return true
	}
	b.weighs--
	order := make(map[*placedPod]presence, len(b.pods))
	for j, p := range b.pods {
		order[p] = presence(placed[j]) * sure
	}
	return s.after(order).possible()
}

// after is the scene with the pods of a burst in it that were placed before, and not the others.
func (s *scene) after(order map[*placedPod]presence) *scene {
	t := *s
	t.pods = nil
	for _, q := range s.pods {
		if came, in := order[q.placedPod]; in {
			q.counted = during(came, q.going.endedBefore(s.pod.bound, watchSkew))
			q.there = during(came, q.over.endedBefore(s.pod.bound, watchSkew))
		}
		if q.there != no {
			t.pods = append(t.pods, q)
		}
	}
	return &t
}

// possible tells whether the binding was legal in some of the cases that the scene allows for.
func (s *scene) possible() bool {
	return slices.ContainsFunc(s.on.states, func(here history.Node) bool {
		return !slices.ContainsFunc(s.findings(here), func(f finding) bool { return f.broken == sure })
	})
}
