package stats

import (
	"math"
	"slices"
)

// LeastSide is the smallest number of values on either side of a shift. One or two wild values are no shift.
const LeastSide = 3

// Shift is where a series of values, in the order of time, has most likely changed its level for good.
type Shift struct {
	At            int     // index of the first value after the shift; 0 if the series has none to offer
	Before, After float64 // medians
	// Delta is Cliff's delta: the share of pairs (one value before, one after) in which the later value is larger, less the share in which
	// it is smaller. 1: every later value is larger. 0: neither.
	Delta float64
	P     float64 // probability that chance alone, in a series without a shift, gives one that looks at least as clear
}

// Shifts looks for shifts. It must not be used by several goroutines at once.
type Shifts struct {
	Draws  int             // permutations of a long series; P is never below 1/(Draws+1) there
	Random func(n int) int // a random number below n

	tails map[int]tails // by the number of values
}

// Of looks for a shift in a series of finite values. It compares the ranks before and after each possible point by a Mann-Whitney test, and
// takes the point with the smallest probability. Pettitt's test, which takes the largest difference of ranks itself, needs many more values
// after a late shift, and late shifts are news. Ranks are used because durations have long tails: one wild value weighs no more than the
// largest ordinary one.
//
// P is that of the smallest probability over all points, and not that of a single test, because the point was chosen by the values. It comes
// from the series' own permutations, which are all equally likely if nothing shifted. So it needs no assumption about the distribution, and is
// right with ties. Up to mostExact values all permutations count; for more, Draws of them are drawn. The values must be independent of
// each other.
//
// Where the shift is, ranks say only roughly: the lowest of the later values may as well be the highest of the earlier. Of the points that are
// about as clear, it is the one whose values are closest to the medians of their sides.
//
// Sources: https://doi.org/10.2307/2346729 (Pettitt 1979), https://doi.org/10.1093/biomet/78.2.301 (Besag and Clifford 1991: to stop
// drawing early), https://doi.org/10.1037/0033-2909.114.3.494 (Cliff 1993).
func (s *Shifts) Of(values []float64) Shift {
	w := newWalk(values, s.tailsFor(len(values)))
	clearest := w.clearest()
	if clearest >= 1 {
		return Shift{P: 1}
	}
	at := w.closest(values, clearest)
	shift := Shift{At: at, Before: Median(values[:at]), After: Median(values[at:]), Delta: cliffsDelta(values[:at], values[at:])}
	w.limit(clearest)
	if len(values) <= mostExact {
		shift.P = w.exact()
	} else {
		shift.P = w.drawn(s.Draws, s.Random)
	}
	return shift
}

func (s *Shifts) tailsFor(n int) tails {
	if s.tails == nil {
		s.tails = make(map[int]tails)
	}
	if _, made := s.tails[n]; !made {
		s.tails[n] = newTails(n)
	}
	return s.tails[n]
}

// closest is the point about as clear as the clearest one at which the values differ the least from the medians of their sides.
func (w *walk) closest(values []float64, clearest float64) (at int) {
	const asClear = 100 // times the smallest probability
	least := math.Inf(1)
	sum := 0
	for i, step := range w.steps {
		sum += step
		k := i + 1
		if !w.judged(k) || w.tails.of(k, sum) > asClear*clearest {
			continue
		}
		if d := distance(values[:k]) + distance(values[k:]); d < least {
			at, least = k, d
		}
	}
	return at
}

// distance is the sum of what the values differ from their median.
func distance(values []float64) (sum float64) {
	middle := Median(values)
	for _, v := range values {
		sum += math.Abs(v - middle)
	}
	return sum
}

// FewestFor is the smallest number of values in which a shift can have a P of at most p: that of a shift in the middle, without ties and
// without overlap, of which there are 2 among all ways to choose half of the values. It is mostValues if no smaller number will do.
func FewestFor(p float64) int {
	const mostValues = 1000
	ways := 1.0 // to choose half of n values
	for n := 2; n < mostValues; n += 2 {
		half := float64(n / 2)
		ways *= float64(n) * float64(n-1) / (half * half)
		if n >= 2*LeastSide && 2/ways <= p {
			return n
		}
	}
	return mostValues
}

// Median is the middle value, or the mean of both middle ones; NaN without values.
func Median(values []float64) float64 {
	n := len(values)
	if n == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	if n%2 == 1 {
		return sorted[n/2]
	}
	return sorted[n/2-1]/2 + sorted[n/2]/2
}

func cliffsDelta(before, after []float64) float64 {
	sum := 0
	for _, a := range before {
		for _, b := range after {
			switch {
			case b > a:
				sum++
			case b < a:
				sum--
			}
		}
	}
	return float64(sum) / float64(len(before)*len(after))
}
