package certificate

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/reports/words"
)

// A difference between two numbers is marked if one is more than Factor times the other and more than Floor away from it. Numbers do not
// decide what is certified. Verdicts do, and promises have their own limits.
//
// The values come from stored good runs of the same scenarios and version, on two cores that had other work: of 60 pairs none differed by
// as much in recovery, and of 270 pairs 16 did in p99. With a floor of 20 ms for p99 it would have been 36.
const (
	RecoveryFactor = 2
	RecoveryFloor  = 5 * time.Second
	P99Factor      = 3
	P99Floor       = 200 * time.Millisecond
	// With maxSkew 1 the skew is 0 or 1 by chance.
	SkewFloor = 1
)

// Marks explains which differences are marked.
func (*Certificate) Marks() string {
	return fmt.Sprintf("Marked are verdicts that differ, and numbers that differ by more than they do by chance on a small machine: recovery by a factor of %d and %s, "+
		"p99 by a factor of %d and %s, skew by more than %d.", RecoveryFactor, words.Brief(RecoveryFloor), P99Factor, words.Brief(P99Floor), SkewFloor)
}

// Marked is whether one number is more than factor times the other, and more than floor away from it.
func Marked(was, is, factor, floor float64) bool {
	low, high := min(was, is), max(was, is)
	return high > low*factor && high-low > floor
}
