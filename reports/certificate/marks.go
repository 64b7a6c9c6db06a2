package certificate

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// What is marked as a difference in a number: more than so many times as much, and more than so much. Numbers alone keep
// nothing from being certified; verdicts do, and promises have limits of their own.
//
// They come from stored good runs of the same scenarios, of one version, on two cores that had other work: of 60 pairs none
// differed by as much in recovery, and of 270 pairs 16 did in p99. With a floor of 20 ms for p99 it would have been 36.
const (
	RecoveryFactor = 2
	RecoveryFloor  = 5 * time.Second
	P99Factor      = 3
	P99Floor       = 200 * time.Millisecond
	// SkewFloor: a constraint with maxSkew 1 leaves 0 or 1 to chance.
	SkewFloor = 1
)

// Marks says which differences are marked.
func (*Certificate) Marks() string {
	return fmt.Sprintf("Marked are verdicts that differ, and numbers that do by more than chance on a small machine: recovery %d times as long and %s more, "+
		"p99 %d times and %s more, skew by more than %d.", RecoveryFactor, reports.Brief(RecoveryFloor), P99Factor, reports.Brief(P99Floor), SkewFloor)
}

// Marked tells whether one number is more than factor times the other, and more than floor away from it.
func Marked(was, is, factor, floor float64) bool {
	low, high := min(was, is), max(was, is)
	return high > low*factor && high-low > floor
}
