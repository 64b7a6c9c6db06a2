package stats

import (
	"math"
	"slices"
)

// LeastSide is the smallest number of values that ShiftOf accepts on either side of a shift. One or two wild values are no shift.
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

// ShiftOf looks for a shift in a series. It compares the ranks before and after each possible point, as the Mann-Whitney test does, and
// takes the point with the largest difference in units of its own standard deviation. That makes late points as good as early ones, which
// Pettitt's test, with the difference itself, does not. Ranks are used because durations have long tails: one wild value weighs no more
// than the largest ordinary one.
//
// P is that of the largest difference over all points, and not that of a single test, because the point was chosen by the values. It comes from
// the series' own permutations, which are all equally likely if nothing shifted: so it needs no assumption about the distribution and is right
// with ties. Up to mostExact values all permutations count; for more, up to draws of them are drawn with random, which returns a number
// below its argument. P is never below 1/(draws+1) then. The values must be independent of each other, and no NaN.
//
// Sources: https://doi.org/10.2307/2346729 (Pettitt 1979), https://doi.org/10.1093/biomet/78.2.301 (Besag and Clifford 1991: to stop
// drawing early), https://doi.org/10.1037/0033-2909.114.3.494 (Cliff 1993).
func ShiftOf(values []float64, draws int, random func(n int) int) Shift {
	n := len(values)
	w := newWalk(values)
	at, most := w.largest()
	if at == 0 || most == 0 {
		return Shift{P: 1}
	}
	s := Shift{At: at, Before: Median(values[:at]), After: Median(values[at:]), Delta: cliffsDelta(values[:at], values[at:])}
	w.limit(most)
	if n <= mostExact {
		s.P = w.exact()
	} else {
		s.P = w.drawn(draws, random)
	}
	return s
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
