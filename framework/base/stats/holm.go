package stats

import (
	"cmp"
	"slices"
)

// Holm corrects the P of several tests for their number: the probability that chance makes any of the corrected ones fall to a level or below
// is at most that level, however the tests depend on each other. Figures of the same nights do: a slow machine moves all of them. The
// method of Benjamini and Hochberg would find more, but bounds only the share of false findings.
//
// Source: https://en.wikipedia.org/wiki/Holm%E2%80%93Bonferroni_method
func Holm(ps []float64) []float64 {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	corrected := make([]float64, len(ps))
	most := 0.0
	for rank, i := range order {
		most = max(most, min(1, ps[i]*float64(len(ps)-rank)))
		corrected[i] = most
	}
	return corrected
}
