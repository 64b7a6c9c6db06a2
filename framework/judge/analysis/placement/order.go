package placement

import (
	"cmp"
	"encoding/binary"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// MaxComparisons bounds how many bindings the search for an order compares with the rules. Equal pods are in one class, so the
// bound is enough for hundreds of pods under a maxSkew of 1. A search that exceeds it has no result.
const MaxComparisons = 20_000

// OrderResult is the result of the search for a legal order.
type OrderResult int

// The results.
const (
	NoOrder      OrderResult = iota // every order was compared, and none is legal
	LegalOrder                      // one was found
	NotConcluded                    // the search exceeded MaxComparisons
)

// orderSearch looks for an order in which the bindings of a batch were legal. Each of them may look legal by itself, because each
// may have been the first. But the scheduler decides on one pod after the other, and counts the pods that it decided on before:
// if no order makes all bindings legal, a rule was broken.
type orderSearch struct {
	classes     []*podClass
	comparisons int             // that are left
	dead        map[string]bool // numbers of placed pods, by class, from which the rest cannot be placed
}

// Ordered reports whether the pods of a batch can have been bound in some order. The bindings of pods that are not suspect are
// taken for legal.
func (l *Ledger) Ordered(pods []*PlacedPod, suspect func(*PlacedPod) bool) OrderResult {
	s := &orderSearch{classes: l.classify(pods, suspect), comparisons: MaxComparisons, dead: make(map[string]bool)}
	return s.complete(make([]int, len(s.classes)), len(pods))
}

// complete reports whether the remaining pods can be placed, one after the other, after the first placed[i] of each class. A
// binding that was recorded evidence.WatchSkew or more before another was decided before it.
func (s *orderSearch) complete(placed []int, remaining int) OrderResult {
	if remaining == 0 {
		return LegalOrder
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
		case s.comparisons == 0:
			return NotConcluded
		case !s.legal(i, placed):
			continue
		}
		placed[i]++
		found := s.complete(placed, remaining-1)
		placed[i]--
		if found != NoOrder {
			return found
		}
	}
	s.dead[string(key)] = true
	return NoOrder
}

// next returns the classes of which a pod may have been the next, in the order of the record.
func (s *orderSearch) next(placed []int) (classes []int) {
	at := func(i int) history.Offset { return s.classes[i].pods[placed[i]].Bound.At }
	for i, c := range s.classes {
		if placed[i] < len(c.pods) {
			classes = append(classes, i)
		}
	}
	slices.SortStableFunc(classes, func(a, b int) int { return cmp.Compare(at(a), at(b)) })
	first := at(classes[0])
	return slices.DeleteFunc(classes, func(i int) bool { return at(i)-first >= evidence.WatchSkew })
}

// legal reports whether the next pod of a class may have been placed right after the placed ones.
func (s *orderSearch) legal(i int, placed []int) bool {
	view := s.classes[i].views[placed[i]]
	if view == nil {
		return true
	}
	s.comparisons--
	return view.after(placed).possible()
}

// after returns the view in which, of the pods of the batch, those that were placed exist, and the others do not.
func (b *batchView) after(placed []int) *schedulingView {
	v := *b.schedulingView
	v.pods = make([]podView, 0, len(b.pods))
	for i, q := range b.pods {
		if of := b.members[i]; of.class >= 0 {
			came := evidence.No
			if of.nth < placed[of.class] {
				came = evidence.Sure
			}
			q.counted = during(came, q.going.EndedBefore(b.pod.Bound, evidence.WatchSkew))
			q.there = during(came, q.over.EndedBefore(b.pod.Bound, evidence.WatchSkew))
		}
		if q.there != evidence.No {
			v.pods = append(v.pods, q)
		}
	}
	return &v
}

// possible reports whether the binding was legal in some of the cases that the view allows for.
func (v *schedulingView) possible() bool {
	return slices.ContainsFunc(v.on.states, func(here *corev1.Node) bool {
		return !slices.ContainsFunc(v.findings(here), func(f finding) bool { return f.broken == evidence.Sure })
	})
}
