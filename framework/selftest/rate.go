package selftest

import (
	"github.com/holdfast-ha/holdfast/framework/base/stats"
)

// Rate is how often something was seen in independent trials, and the 95 % confidence interval of its true share. If it was seen never
// or always, only one end of the interval can be wrong, and that end has all of the 5 %: of 200 trials without one, at most 1.49 %.
type Rate struct {
	Seen int     `json:"seen"`
	Of   int     `json:"of"`
	Low  float64 `json:"low"` // 0 to 1
	High float64 `json:"high"`
}

// NewRate is the rate of something that was seen so often in so many independent trials.
//
// Source: https://en.wikipedia.org/wiki/Binomial_proportion_confidence_interval#Clopper%E2%80%93Pearson_interval
func NewRate(seen, of int) Rate {
	r := Rate{Seen: seen, Of: of}
	r.Low, r.High = stats.Share95(uint64(seen), uint64(of))
	return r
}

// Share is the share that was seen; 0 without trials.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Seen) / float64(r.Of)
}
