package export

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRanks compares ranks with sorting, for sets whose numbers are added in roughly increasing order, with gaps, duplicates
// and late small numbers.
func TestRanks(t *testing.T) {
	const seed = 1
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		var set []uint64
		for n := range uint64(random.IntN(60)) {
			if random.IntN(4) > 0 {
				set = append(set, n)
			}
		}
		order := slices.Clone(set)
		for range random.IntN(30) {
			if len(order) > 1 {
				i := random.IntN(len(order) - 1)
				order[i], order[i+1] = order[i+1], order[i]
			}
		}
		if len(order) > 0 && random.IntN(3) == 0 {
			order = append(order, order[random.IntN(len(order))])
		}
		var r ranks
		for _, n := range order {
			r.add(n)
		}
		r.count()
		for n := range uint64(62) {
			want, _ := slices.BinarySearch(set, n)
			if got := r.of(n); got != uint64(want) {
				t.Fatalf("set %v, added as %v: %d numbers below %d, want %d: %v", set, order, got, n, want, r)
			}
		}
		for i := range r {
			if i > 0 && r[i].from <= r[i-1].to {
				t.Fatalf("two ranges could be one: %v", r)
			}
		}
	}
}
