package stats

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

const (
	// mostExact bounds the series whose permutations are all counted: it needs 8 bytes for each of the 2^16 sets of values.
	mostExact = 16
	// enoughHits ends the drawing of permutations: P is above a useful level then, and known to a fifth.
	enoughHits = 20
)

// walk goes through the ranks of a series and adds up by how much they exceed their mean. All sums are doubled, which makes them integers:
// equal values share the mean of their ranks.
type walk struct {
	tails tails
	steps []int // of each value, its doubled rank less the doubled mean
	bound []int // of each point, the sum from which on it is at least as clear as the shift that was found
}

func newWalk(values []float64, t tails) *walk {
	n := len(values)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	w := &walk{tails: t, steps: make([]int, n), bound: make([]int, n)}
	for from := 0; from < n; {
		to := from + 1
		for to < n && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] { // the doubled mean of the ranks from+1 to to, less that of all
			w.steps[i] = from + 1 + to - (n + 1)
		}
		from = to
	}
	return w
}

// judged is whether a shift may be at the point: enough values are on both sides.
func (w *walk) judged(k int) bool { return k >= LeastSide && k <= len(w.steps)-LeastSide }

// clearest is the smallest probability of all points; 1 if the series is too short.
func (w *walk) clearest() float64 {
	least, sum := 1.0, 0
	for i, step := range w.steps {
		sum += step
		if k := i + 1; w.judged(k) {
			least = min(least, w.tails.of(k, sum))
		}
	}
	return least
}

// limit sets what counts as at least as clear.
func (w *walk) limit(clearest float64) {
	const rounding = 1 + 1e-9 // equally clear sums must count
	for k := range w.bound {
		if !w.judged(k) {
			continue
		}
		most := k * (len(w.steps) - k) // the largest possible sum
		w.bound[k] = sort.Search(most+1, func(sum int) bool { return w.tails.of(k, sum) <= clearest*rounding })
	}
}

// reaches is whether the sum after k values is at least as clear as the shift that was found.
func (w *walk) reaches(k, sum int) bool { return w.judged(k) && max(sum, -sum) >= w.bound[k] }

// exact is the share of permutations that somewhere reach the limit. It counts those that never do, by the set of values that came first:
// a sum depends on the set alone, and not on its order.
func (w *walk) exact() float64 {
	n := len(w.steps)
	never := make([]float64, 1<<n) // of the orders of each set of values, the share that has not reached the limit
	sums := make([]int32, 1<<n)
	never[0] = 1
	for set := 1; set < len(never); set++ {
		sums[set] = sums[set&(set-1)] + int32(w.steps[bits.TrailingZeros(uint(set))])
		k := bits.OnesCount(uint(set))
		if w.reaches(k, int(sums[set])) {
			continue
		}
		for rest := set; rest != 0; rest &= rest - 1 {
			last := rest & -rest // the value that came last
			never[set] += never[set&^last] / float64(k)
		}
	}
	return max(0, 1-never[len(never)-1])
}

// drawn estimates exact from random permutations. It counts the series itself as one of them, so P is never too small.
func (w *walk) drawn(draws int, random func(n int) int) float64 {
	steps := slices.Clone(w.steps)
	hits := 0
	for drawn := 1; drawn <= draws; drawn++ {
		if w.shuffled(steps, random) {
			if hits++; hits == enoughHits {
				return float64(hits) / float64(drawn)
			}
		}
	}
	return float64(hits+1) / float64(draws+1)
}

// shuffled draws a permutation, and ends as soon as it reaches the limit.
func (w *walk) shuffled(steps []int, random func(n int) int) bool {
	sum := 0
	for i := range steps {
		j := i + random(len(steps)-i)
		steps[i], steps[j] = steps[j], steps[i]
		sum += steps[i]
		if w.reaches(i+1, sum) {
			return true
		}
	}
	return false
}
