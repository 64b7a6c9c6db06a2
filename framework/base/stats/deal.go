package stats

import "math"

// A Service spreads connections over its pods at random. With few connections, chance alone leaves pods without any: 32 connections
// miss one of ten pods in a third of all cases. So a promise about shares needs to know how many connections there were.

// unluckyDeal is the largest probability that a fair distribution looks unfair.
const unluckyDeal = 1e-6

// MaxDeal bounds the search for a sufficient number of connections, and the number of connections that are told apart.
const MaxDeal = 1 << 16

// Deal is a random distribution of connections over pods.
type Deal struct {
	Chance  float64 // of each connection to reach the pods in question
	Hands   int     // number of pods, of which the worst counts
	AtLeast float64 // share of an equal share that is promised
}

// unlucky is an upper bound of the probability that a fair distribution of n connections leaves a pod with less than its promised
// share.
func (d Deal) unlucky(n int) float64 {
	least := uint64(max(0, math.Ceil(d.AtLeast*d.Chance*float64(n))))
	return min(1, float64(d.Hands)*(1-binomialTail(least, uint64(n), d.Chance)))
}

// Enough is the number of connections from which on a fair distribution is hardly ever unlucky; MaxDeal when there is none. The
// probability falls in steps, and may rise above the limit again after a step, because one more connection can raise the promised
// number by one.
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

// Surprise is an upper bound of the probability that a fair distribution of n connections over so many pods leaves some few of them
// together with no more than got.
func Surprise(pods, few, n, got int) float64 {
	log := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	ways := math.Exp(log(pods) - log(few) - log(pods-few))
	return min(1, ways*(1-binomialTail(uint64(got)+1, uint64(n), float64(few)/float64(pods))))
}
