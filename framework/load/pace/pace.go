// Package pace says when each of a lane's requests is due.
//
// It sends nothing, and does not wait.
package pace

import (
	"math"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// Rate is a steady rate in hits a second. Vegeta's ConstantPacer takes whole hits per interval, rounds the interval to
// nanoseconds, and makes its first hit one interval late. But the rates of lanes are shares of a total, such as 33.3, and a
// reader must be able to compute a row's due time: start + k/rate.
type Rate float64

var _ vegeta.Pacer = Rate(0)

// Pace returns how long to wait for a hit. It never stops: the lane decides when it ends.
func (r Rate) Pace(elapsed time.Duration, hits uint64) (wait time.Duration, stop bool) {
	return time.Duration(math.Round(float64(hits)*1e9/float64(r))) - elapsed, false
}

// Rate returns the hits per second.
func (r Rate) Rate(time.Duration) float64 { return float64(r) }
