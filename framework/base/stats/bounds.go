package stats

import "math"

// UpperBound95 is the upper bound, with 95 % confidence, of the share that fails when none of n did: about 3/n, because 0.95 =
// 1-(1-p)^n. It is 1 for n up to 3, which are too few to say anything. It assumes that the n are independent. Requests during one
// disruption are not, so the bound over disruptions is more reliable.
//
// Source: https://en.wikipedia.org/wiki/Rule_of_three_(statistics)
func UpperBound95(n uint64) float64 {
	const rule = 3
	if n <= rule {
		return 1
	}
	return rule / float64(n)
}

// binomialTail is the exact probability that at least k of n independent trials succeed, each with probability p. The incomplete beta
// function of gonum's mathext (and distuv.Binomial) agrees up to n = 1,000,000, but is off by 0.4 % at 10 million and by 13 % at 50
// million near the mean, because it stops after 300 terms. Runs have that many requests.
//
// Source: https://www.itl.nist.gov/div898/handbook/eda/section3/eda366i.htm
func binomialTail(k, n uint64, p float64) float64 {
	switch {
	case k == 0:
		return 1
	case k > n || p <= 0:
		return 0
	case p >= 1:
		return 1
	case float64(k) <= p*float64(n):
		return 1 - lowerTail(k, n, p)
	}
	term := binomial(k, n, p)
	sum := term
	odds := p / (1 - p)
	for i := k; i < n && term > sum*epsilon; i++ {
		term *= float64(n-i) / float64(i+1) * odds // which falls, since k is above the mean
		sum += term
	}
	return min(sum, 1)
}

// epsilon is where further terms no longer change a sum.
const epsilon = 1e-17

// lowerTail is the probability of fewer than k successes, for k at or below the mean.
func lowerTail(k, n uint64, p float64) float64 {
	term := binomial(k-1, n, p)
	sum := term
	for i := k - 1; i > 0 && term > sum*epsilon; i-- {
		term *= float64(i) / float64(n-i+1) * (1 - p) / p
		sum += term
	}
	return min(sum, 1)
}

// binomial is the probability of exactly k successes; p lies strictly between 0 and 1.
func binomial(k, n uint64, p float64) float64 {
	log := func(n uint64) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	return math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// MostOf is the largest number of successes in n trials, each with probability p, that chance still explains: a larger number has a
// probability below alpha.
func MostOf(n uint64, p, alpha float64) uint64 {
	low, high := uint64(0), n // the answer lies between
	for low < high {
		middle := low + (high-low+1)/2
		if binomialTail(middle, n, p) >= alpha {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// Interval95 is the exact 95 % interval of a share that was seen in k of n independent trials. Each end leaves 2.5 %.
//
// Source: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Clopper%E2%80%93Pearson_interval
func Interval95(k, n uint64) (low, high float64) {
	const each = 0.025
	if n == 0 {
		return 0, 1
	}
	high = 1
	if k > 0 { // so that k or more are just believable
		low = rootOf(func(p float64) bool { return binomialTail(k, n, p) < each })
	}
	if k < n { // so that k or fewer are just believable
		high = rootOf(func(p float64) bool { return 1-binomialTail(k+1, n, p) > each })
	}
	return low, high
}

// Share95 is Interval95, except that the whole 5 % is on the one end that can be wrong if it was seen in none or in all of the trials: of 200 trials
// without one, at most 1.49 %.
func Share95(k, n uint64) (low, high float64) {
	switch end := math.Pow(0.05, 1/float64(n)); {
	case n == 0:
		return 0, 1
	case k == 0:
		return 0, 1 - end
	case k == n:
		return end, 1
	}
	return Interval95(k, n)
}

// rootOf is the p between 0 and 1 up to which below holds.
func rootOf(below func(p float64) bool) float64 {
	const steps = 40 // halvings: further ones depend on how a processor rounds
	low, high := 0.0, 1.0
	for range steps {
		if middle := (low + high) / 2; below(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return (low + high) / 2
}
