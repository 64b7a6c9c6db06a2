package reports

import (
	"math"

	"github.com/holdfast-ha/holdfast/framework/stats"
)

// Rate is how often something was seen, and what its true share may be: 0.95 is the confidence in Low to High. Where it
// was never or always seen, only one end can be wrong, and has all of the 5 %: of 200 without one, at most 1.49 %.
type Rate struct {
	Seen int     `json:"seen"`
	Of   int     `json:"of"`
	Low  float64 `json:"low"` // 0 to 1
	High float64 `json:"high"`
}

// rateOf is the rate of what was seen so often in so many independent trials. Without a trial nothing is known.
//
// Source: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Clopper%E2%80%93Pearson_interval
func rateOf(seen, of int) Rate {
	const alpha = 0.05
	r := Rate{Seen: seen, Of: of, High: 1}
	if of == 0 {
		return r
	}
	switch end := math.Pow(alpha, 1/float64(of)); seen {
	case 0:
		r.High = 1 - end
	case of:
		r.Low = end
	default:
		r.Low, r.High = stats.Interval95(uint64(seen), uint64(of))
	}
	return r
}

// Share is what was seen of it; 0 where nothing was.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Seen) / float64(r.Of)
}

// bounds are the interval in words.
func (r Rate) bounds() string {
	switch {
	case r.Of == 0:
		return "nothing is known"
	case r.Seen == 0:
		return "at most " + rounded(r.High)
	case r.Seen == r.Of:
		return "at least " + rounded(r.Low)
	}
	return rounded(r.Low) + " to " + rounded(r.High)
}
