package load

import (
	"math"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// pace is a steady rate, in hits a second. Vegeta's own ConstantPacer takes whole hits in a whole interval, which it
// cuts to a nanosecond, and makes its first hit one interval late; the rates of lanes are shares of a whole, such as
// 33.3, and a row's due time has to be computable by whoever reads it: start + k/rate.
type pace float64

var _ vegeta.Pacer = pace(0)

// Pace tells how long to wait for a hit. It never ends: a lane has its own end.
func (p pace) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	return time.Duration(math.Round(float64(hits)*1e9/float64(p))) - elapsed, false
}

// Rate in hits a second.
func (p pace) Rate(time.Duration) float64 { return float64(p) }
