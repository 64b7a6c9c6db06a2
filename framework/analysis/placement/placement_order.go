package placement

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// MaxWeighings bounds how many bindings are weighed in the search for an order of those that lie close together. Equal
// pods are folded, so that it is enough for hundreds of pods under a maxSkew of 1; where it is not enough, the search
// answers that it concluded nothing.
const MaxWeighings = 20_000

// answer is what the search for an order came to.
type answer int

const (
	NoOrder      answer = iota // every order was weighed, and none is legal
	anOrder                    // one was found
	NotConcluded               // the weighings were used up before
)

// orderSearch looks for an order in which the bindings of a burst were legal. Taken one by one they may all look possible,
// because each may have been the first. But the scheduler decides on one pod after the other, and counts those that it
// decided on before: if in no order all of them are legal, a rule was broken.
type orderSearch struct {
	folds  []*fold
	weighs int             // left
	dead   map[string]bool // how many of each fold were placed, where the rest cannot be completed
}

// Ordered tells whether the pods of a burst can have been bound in some order. Those that are not accused may have been
// bound anyhow.
func (l *PlacementLedger) Ordered(pods []*PlacedPod, accused func(*PlacedPod) bool) answer {
	s := &orderSearch{folds: l.folded(pods, accused), weighs: MaxWeighings, dead: make(map[string]bool)}
	return s.complete(make([]int, len(s.folds)), len(pods))
}

// complete tells whether the pods that are left can be placed, one after the other, when the first placed[i] of each fold
// are. What was told a skew or more before another was decided before it.
func (s *orderSearch) complete(placed []int, left int) answer {
	if left == 0 {
		return anOrder
	}
	var key []byte
	for _, n := range placed {
		key = binary.AppendUvarint(key, uint64(n))
	}
	if s.dead[string(key)] {
		return NoOrder
	}
	for _, i := range s.next(placed) {
		switch {
		case s.weighs == 0:
			return NotConcluded
		case !s.legal(i, placed):
			continue
		}
		placed[i]++
		found := s.complete(placed, left-1)
		placed[i]--
		if found != NoOrder {
			return found
		}
	}
	s.dead[string(key)] = true
	return NoOrder
}

// next are the folds of which a pod may have been the next, the one that was told first before the others.
func (s *orderSearch) next(placed []int) (folds []int) {
	at := func(i int) history.Offset { return s.folds[i].pods[placed[i]].Bound.At }
	for i, f := range s.folds {
		if placed[i] < len(f.pods) {
			folds = append(folds, i)
		}
	}
	slices.SortStableFunc(folds, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	first := at(folds[0])
	return slices.DeleteFunc(folds, func(i int) bool { return at(i)-first >= evidence.WatchSkew })
}

// legal tells whether the next pod of a fold may have been placed right after those that are.
func (s *orderSearch) legal(i int, placed []int) bool {
	now := s.folds[i].scenes[placed[i]]
	if now == nil {
		return true
	}
	s.weighs--
	return now.after(placed).possible()
}

// after is the scene with the pods of the burst in it that were placed before, and not the others.
func (b *burstScene) after(placed []int) *scene {
	t := *b.scene
	t.pods = make([]podView, 0, len(b.pods))
	for i, q := range b.pods {
		if of := b.folds[i]; of.fold >= 0 {
			came := evidence.No
			if of.nth < placed[of.fold] {
				came = evidence.Sure
			}
			q.counted = during(came, q.going.EndedBefore(b.pod.Bound, evidence.WatchSkew))
			q.there = during(came, q.over.EndedBefore(b.pod.Bound, evidence.WatchSkew))
		}
		if q.there != evidence.No {
			t.pods = append(t.pods, q)
		}
	}
	return &t
}

// possible tells whether the binding was legal in some of the cases that the scene allows for.
func (s *scene) possible() bool {
	return slices.ContainsFunc(s.on.states, func(here history.Node) bool {
		return !slices.ContainsFunc(s.findings(here), func(f finding) bool { return f.broken == evidence.Sure })
	})
}
