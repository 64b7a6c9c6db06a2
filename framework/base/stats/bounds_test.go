package stats

import (
	"math"
	"testing"
)

func TestUpperBound95(t *testing.T) {
	for n, want := range map[uint64]float64{0: 1, 3: 1, 4: 0.75, 300: 0.01, 6000: 0.0005} {
		if got := UpperBound95(n); got != want {
			t.Errorf("of %d: %v, want %v", n, got, want)
		}
	}
	// The bound is what it says: were it the true share, n trials without a failure had a probability of about 5 %.
	for _, n := range []uint64{100, 1000, 1_000_000} {
		if p := math.Pow(1-UpperBound95(n), float64(n)); p > 0.05 || p < 0.045 {
			t.Errorf("of %d: probability %v", n, p)
		}
	}
}

// TestBinomialTail compares with sums over all outcomes, computed one by one.
func TestBinomialTail(t *testing.T) {
	for n := uint64(1); n <= 30; n++ {
		for _, p := range []float64{0, 0.001, 1.0 / 6, 0.5, 0.9, 1} {
			for k := uint64(0); k <= n+1; k++ {
				want := 0.0
				for i := k; i <= n; i++ {
					want += choose(n, i) * math.Pow(p, float64(i)) * math.Pow(1-p, float64(n-i))
				}
				if got := binomialTail(k, n, p); math.Abs(got-want) > 1e-12 {
					t.Errorf("P(X >= %d) of %d with %v: %v, want %v", k, n, p, got, want)
				}
			}
		}
	}
}

func choose(n, k uint64) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return c
}

// rare is how unlikely the numbers of MostOf are.
const rare = 0.001

func TestMostOf(t *testing.T) {
	for _, s := range []struct {
		n    uint64
		p    float64
		want uint64
	}{
		{0, 0.5, 0}, {1, 0.5, 1}, {9, 0.5, 9}, {10, 0.5, 9}, {600, 1.0 / 6, 129}, {10_000_000, 1.0 / 3, 3_337_940},
		{100, 1, 100},
	} {
		got := MostOf(s.n, s.p, rare)
		if got != s.want {
			t.Errorf("of %d with %v: %d, want %d", s.n, s.p, got, s.want)
		}
		if got < s.n && binomialTail(got+1, s.n, s.p) >= rare {
			t.Errorf("of %d with %v: %d more were believable", s.n, s.p, got+1)
		}
	}
}

// TestInterval95: at its ends the outcome is just believable, and known intervals come out.
// Source of the known ones: the Clopper-Pearson tables of any statistics handbook, for example R's binom.test.
func TestInterval95(t *testing.T) {
	for _, s := range []struct {
		k, n      uint64
		low, high float64
	}{
		{0, 0, 0, 1}, {0, 20, 0, 0.1684}, {20, 20, 0.8316, 1}, {13, 20, 0.4078, 0.8461}, {1, 2, 0.0126, 0.9874}, {50, 100, 0.3983, 0.6017},
	} {
		low, high := Interval95(s.k, s.n)
		if math.Abs(low-s.low) > 1e-4 || math.Abs(high-s.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", s.k, s.n, low, high, s.low, s.high)
		}
		if s.k > 0 && math.Abs(binomialTail(s.k, s.n, low)-0.025) > 1e-9 {
			t.Errorf("%d of %d: the lower end leaves %v", s.k, s.n, binomialTail(s.k, s.n, low))
		}
	}
}

// Of what was seen in none or all of the trials, only one end can be wrong.
func TestShare95(t *testing.T) {
	for _, s := range []struct {
		k, n      uint64
		low, high float64
	}{{0, 0, 0, 1}, {0, 200, 0, 0.0149}, {109, 109, 0.9729, 1}, {13, 20, 0.4078, 0.8461}} {
		if low, high := Share95(s.k, s.n); math.Abs(low-s.low) > 1e-4 || math.Abs(high-s.high) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, want %.4f to %.4f", s.k, s.n, low, high, s.low, s.high)
		}
	}
}
