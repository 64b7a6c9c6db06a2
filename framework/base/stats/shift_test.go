package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// ordinary are so many values without a shift, with the long tail of durations.
func ordinary(n int, random *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 10 * math.Exp(0.2*random.NormFloat64())
	}
	return values
}

func shiftOf(values []float64, draws int, random *rand.Rand) Shift {
	return (&Shifts{Draws: draws, Random: random.IntN}).Of(values)
}

func TestShiftOf(t *testing.T) {
	for name, s := range map[string]struct {
		values []float64
		want   Shift
		p      [2]float64 // at least, at most
	}{
		"none":         {nil, Shift{}, [2]float64{1, 1}},
		"too few":      {[]float64{1, 1, 9, 9, 9}, Shift{}, [2]float64{1, 1}},
		"constant":     {slices.Repeat([]float64{4}, 20), Shift{}, [2]float64{1, 1}},
		"clear, few":   {[]float64{1, 2, 3, 7, 8, 9}, Shift{At: 3, Before: 2, After: 8, Delta: 1}, [2]float64{2.0 / 20, 2.0 / 20}},
		"clear, down":  {[]float64{9, 8, 7, 6, 1, 2, 3, 4}, Shift{At: 4, Before: 7.5, After: 2.5, Delta: -1}, [2]float64{2.0 / 70, 2.0 / 70}},
		"an outlier":   {append(slices.Repeat([]float64{4}, 19), 1e300), Shift{At: 3, Before: 4, After: 4, Delta: 1.0 / 17}, [2]float64{0.1, 1}},
		"two outliers": {append(slices.Repeat([]float64{4}, 28), 90, 90), Shift{At: 27, Before: 4, After: 90, Delta: 2.0 / 3}, [2]float64{0.002, 1}},
		"alternating":  {slices.Repeat([]float64{1, 9}, 15), Shift{At: 3, Before: 1, After: 9, Delta: 5.0 / 27}, [2]float64{0.5, 1}},
		"clear, many":  {slices.Concat(slices.Repeat([]float64{1}, 15), slices.Repeat([]float64{2}, 15)), Shift{At: 15, Before: 1, After: 2, Delta: 1}, [2]float64{0, 1e-4}},
		"clear, early": {[]float64{10, 11, 12, 10, 91, 95, 94, 93, 92, 96}, Shift{At: 4, Before: 10.5, After: 93.5, Delta: 1}, [2]float64{2.0 / 252, 0.05}},
	} {
		t.Run(name, func(t *testing.T) {
			got := shiftOf(s.values, 20_000, rand.New(rand.NewPCG(1, 2)))
			if got.P < s.p[0]-1e-12 || got.P > s.p[1]+1e-12 {
				t.Errorf("P is %v, want %v to %v", got.P, s.p[0], s.p[1])
			}
			got.P = 0
			if math.Abs(got.Delta-s.want.Delta) < 1e-12 {
				got.Delta = s.want.Delta
			}
			if got != s.want {
				t.Errorf("%+v, want %+v", got, s.want)
			}
		})
	}
}

// TestExactP compares with all permutations, one by one.
func TestExactP(t *testing.T) {
	for _, values := range [][]float64{{1, 2, 3, 4, 5, 6, 7}, {3, 1, 2, 6, 4, 7, 5, 5}, {0, 0, 0, 0, 0, 1, 1, 1}, {0, 1, 0, 0, 0, 0, 0}, {2, 2, 1, 3, 3, 3, 3, 1}} {
		reach, all := 0, 0
		chances := newTails(len(values))
		found := newWalk(values, chances).clearest()
		permute(slices.Clone(values), 0, func(p []float64) {
			all++
			if newWalk(p, chances).clearest() <= found*(1+1e-9) {
				reach++
			}
		})
		if got, want := shiftOf(values, 0, nil).P, float64(reach)/float64(all); math.Abs(got-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", values, got, want)
		}
	}
}

func permute(values []float64, from int, visit func([]float64)) {
	if from == len(values) {
		visit(values)
		return
	}
	for i := from; i < len(values); i++ {
		values[from], values[i] = values[i], values[from]
		permute(values, from+1, visit)
		values[from], values[i] = values[i], values[from]
	}
}

// TestDrawnPAgreesWithExact: both ways to get a P differ by chance alone.
func TestDrawnPAgreesWithExact(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		w := newWalk(ordinary(mostExact, random), newTails(mostExact))
		w.limit(w.clearest())
		exact, drawn := w.exact(), w.drawn(20_000, random.IntN)
		// Drawing ends after enoughHits, so the relative error is about their root; 4.5 of it is reached once in 150,000 times.
		if tolerance := 4.5 * exact / math.Sqrt(enoughHits); math.Abs(drawn-exact) > tolerance {
			t.Errorf("drawn %v, exact %v", drawn, exact)
		}
	}
}

// TestFalseAlarms: without a shift, P is at most p in no more than a share p of all series.
func TestFalseAlarms(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{12, 30} {
		for _, ties := range []bool{false, true} {
			const series = 2000
			var alarms [3]uint64
			levels := [3]float64{0.01, 0.05, 0.2}
			for range series {
				values := ordinary(n, random)
				for i := range values {
					if ties {
						values[i] = math.Round(values[i] / 3)
					}
				}
				p := shiftOf(values, 2000, random).P
				for i, level := range levels {
					if p <= level {
						alarms[i]++
					}
				}
			}
			for i, level := range levels {
				if most := MostOf(series, level, rare); alarms[i] > most {
					t.Errorf("%d values, ties %v: %d of %d series have a P of at most %v, and %d is the most that chance explains", n, ties, alarms[i], series, level, most)
				}
			}
		}
	}
}

func TestFewestFor(t *testing.T) {
	for p, want := range map[float64]int{1: 6, 0.1: 6, 0.099: 8, 0.01: 10, 0.001: 14, 1e-5: 22, 0: 1000} {
		n := FewestFor(p)
		if n != want {
			t.Errorf("for %v: %d, want %d", p, n, want)
		}
		if n > mostExact {
			continue
		}
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(i)
		}
		if best := shiftOf(values, 0, nil); best.P > p {
			t.Errorf("for %v: %d values in order have %+v", p, n, best)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, s := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 9}, 3}, {[]float64{math.MaxFloat64, math.MaxFloat64}, math.MaxFloat64}} {
		if got := Median(s.values); got != s.want {
			t.Errorf("of %v: %v, want %v", s.values, got, s.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}

func TestHolm(t *testing.T) {
	got := Holm([]float64{0.04, 0.01, 0.03, 0.005, 0.9})
	want := []float64{0.09, 0.04, 0.09, 0.025, 0.9}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// TestTails compares with sums over all ways to choose ranks, and the normal distribution with the exact one where they meet.
func TestTails(t *testing.T) {
	for n := 6; n <= 12; n++ {
		chances := newTails(n)
		for k := 1; k < n; k++ {
			count := map[int]float64{} // of doubled sums less their mean
			all := 0.0
			for set := range 1 << n {
				if bits.OnesCount(uint(set)) != k {
					continue
				}
				sum := -k * (n + 1)
				for rank := 1; rank <= n; rank++ {
					sum += 2 * rank * (set >> (rank - 1) & 1)
				}
				count[sum]++
				all++
			}
			for d := 1; d <= k*(n-k); d++ {
				want := 0.0
				for sum, c := range count {
					if max(sum, -sum) >= d {
						want += c / all
					}
				}
				if got := chances.of(k, -d); math.Abs(got-min(1, want)) > 1e-12 {
					t.Errorf("%d of %d, %d from the mean: %v, want %v", k, n, d, got, want)
				}
			}
		}
	}
	const n = 60
	chances := newTails(n)
	exact := chances.of(smallSide, 450)
	chances.upper = chances.upper[:smallSide]
	if normal := chances.of(smallSide, 450); normal < exact/3 || normal > 3*exact {
		t.Errorf("normal %v, exact %v", normal, exact)
	}
}
