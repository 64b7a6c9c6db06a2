package stats

import "math"

// smallSide is up to how many values on the smaller side the distribution of the sum of ranks is computed exactly. With more on both sides
// the normal distribution is close enough: it only decides which points are clearer than others, and P is right whatever decides that.
const smallSide = 20

// tails are probabilities of sums of ranks, for one number of values without ties.
type tails struct {
	n     int
	upper [][]float64 // of each number of values on the smaller side, the probability of a sum that is so much above the lowest, or more
}

func newTails(n int) tails {
	t := tails{n: n, upper: make([][]float64, min(n/2, smallSide)+1)}
	ways := make([][]float64, len(t.upper)) // to choose k of the ranks so far, by their sum
	for k := range ways {
		ways[k] = make([]float64, k*n+1)
	}
	ways[0][0] = 1
	for rank := 1; rank <= n; rank++ {
		for k := min(rank, len(ways)-1); k > 0; k-- {
			for sum, count := range ways[k-1] {
				if count > 0 && sum+rank < len(ways[k]) {
					ways[k][sum+rank] += count
				}
			}
		}
	}
	for k := range ways {
		t.upper[k] = upperTail(ways[k][k*(k+1)/2 : k*(k+1)/2+k*(n-k)+1])
	}
	return t
}

// upperTail is the share of the counts from each place on.
func upperTail(counts []float64) []float64 {
	tail := make([]float64, len(counts))
	sum := 0.0
	for i := len(counts) - 1; i >= 0; i-- {
		sum += counts[i]
		tail[i] = sum
	}
	for i := range tail {
		tail[i] /= sum
	}
	return tail
}

// of is the probability that the first k values have ranks whose doubled sum is at least so far from its mean, on either side.
func (t tails) of(k, doubled int) float64 {
	doubled = max(doubled, -doubled)
	side, pairs := min(k, t.n-k), k*(t.n-k)
	if doubled == 0 {
		return 1
	}
	if side < len(t.upper) {
		return min(1, 2*t.upper[side][(pairs+doubled+1)/2])
	}
	return math.Erfc(float64(doubled) / math.Sqrt(2*float64(pairs)*float64(t.n+1)/3))
}
