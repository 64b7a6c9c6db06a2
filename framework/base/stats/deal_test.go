package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestEnough: the numbers that scenarios are built on. They are known from adding up the binomial distribution elsewhere.
func TestEnough(t *testing.T) {
	for _, s := range []struct {
		deal Deal
		want int
	}{
		{Deal{0.1, 10, 0.2}, 271}, {Deal{0.1, 10, 0.25}, 327}, {Deal{0.1, 10, 0.3}, 379}, {Deal{1.0 / 6, 6, 0.3}, 208},
		{Deal{0.7, 1, 0.3}, 22}, {Deal{0.7, 1, 0.5}, 44},
		{Deal{0.1, 10, 0}, 0}, {Deal{0.1, 0, 0.3}, 0}, {Deal{0.1, 10, 1}, MaxDeal},
	} {
		if got := s.deal.Enough(); got != s.want {
			t.Errorf("%+v: %d, want %d", s.deal, got, s.want)
		}
	}
}

// TestUnlucky plays deals: the bound is not below what happens, and not far above.
func TestUnlucky(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 2))
	const plays, pods = 20_000, 10
	for _, n := range []int{32, 80, 120} {
		d := Deal{1.0 / pods, pods, 0.3}
		unlucky := 0
		for range plays {
			var hands [pods]int
			for range n {
				hands[random.IntN(pods)]++
			}
			for _, hand := range hands {
				if float64(hand) < d.AtLeast*float64(n)/pods {
					unlucky++
					break
				}
			}
		}
		seen, bound := float64(unlucky)/plays, d.unlucky(n)
		if slack := 4 * math.Sqrt(seen/plays); seen > bound+slack || bound > 1.3*seen+slack {
			t.Errorf("%d connections: %v of the deals are unlucky, and the bound is %v", n, seen, bound)
		}
	}
}

func TestSurprise(t *testing.T) {
	for _, s := range []struct {
		pods, few, n, got int
		low, high         float64
	}{
		{10, 7, 32, 0, 0, 1e-14},     // seven of ten pods get nothing of 32 connections
		{10, 1, 32, 0, 0.34, 0.35},   // one of them, which is common
		{10, 1, 200, 0, 0, 1e-8},     // and of 200, which is not
		{10, 1, 0, 0, 1, 1},          // of none at all
		{10, 1, 20, 20, 1, 1},        // it got them all
		{10, 10, 32, 32, 1, 1},       // as they must
		{2, 1, 10, 5, 1, 1},          // half of them
		{4, 2, 20, 4, 0.0354, 0.036}, // 6 x 0.0059
	} {
		if got := Surprise(s.pods, s.few, s.n, s.got); got < s.low || got > s.high {
			t.Errorf("%d of %d pods have %d of %d connections: %v, want %v to %v", s.few, s.pods, s.got, s.n, got, s.low, s.high)
		}
	}
}
