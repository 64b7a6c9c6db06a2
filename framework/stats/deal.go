package stats

import "math"

// A Service deals connections to its pods at random. Few of them are dealt unevenly by chance alone: 32 leave one of ten
// pods out in a third of all deals. So a promise about shares has to know how many were dealt.

// unluckyDeal is how seldom a fair deal may look unfair before it proves nothing.
const unluckyDeal = 1e-6

// MaxDeal bounds the search for a number of connections that is enough, and the connections that are told apart.
const MaxDeal = 1 << 16

// Deal is connections that are dealt at random.
type Deal struct {
	Chance  float64 // of each connection to come to the hand that is looked at
	Hands   int     // of which the worst is looked at
	AtLeast float64 // of its equal share
}

// unlucky is at most the probability that a fair deal of n connections leaves a hand with less than it should have.
func (d Deal) unlucky(n int) float64 {
	least := uint64(max(0, math.Ceil(d.AtLeast*d.Chance*float64(n))))
	return min(1, float64(d.Hands)*(1-binomialTail(least, uint64(n), d.Chance)))
}

// Enough is the number of connections from which on a fair deal is hardly ever unlucky; MaxDeal when none is. The
// probability falls in steps, of which each may rise above the limit again: a connection more can mean one more is due.
func (d Deal) Enough() int {
	if d.AtLeast <= 0 || d.Hands < 1 {
		return 0
	}
	step := math.Ceil(1 / (d.Chance * d.AtLeast))
	last := 0
	for n := 1; n < MaxDeal && float64(n-last) <= step+1; n++ {
		if d.unlucky(n) > unluckyDeal {
			last = n
		}
	}
	return last + 1
}

// Surprise is at most the probability that a fair deal of n connections to so many pods leaves any few of them together
// with no more than got.
func Surprise(pods, few, n, got int) float64 {
	log := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	ways := math.Exp(log(pods) - log(few) - log(pods-few))
	return min(1, ways*(1-binomialTail(uint64(got)+1, uint64(n), float64(few)/float64(pods))))
}
