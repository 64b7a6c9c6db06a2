package judge

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// CauseNone stands for a verdict without a cause: the promise was not broken, or the cause of the failures is unknown.
const CauseNone attribution.Cause = "none"

// NamesCauses says whether a kind of promise counts failed requests by cause. A mutant that it must catch names the cause that it
// plants.
func NamesCauses(kind string) bool {
	p, ok := invariant.Of(kind).(invariant.LaneInvariant)
	return ok && p.NamesCauses()
}

// ReportedCause is the cause that a verdict names: the largest of its numbers "cause.<name>". Any promise can name a cause that
// way.
func ReportedCause(v verdict.Verdict) attribution.Cause {
	if v.Outcome != verdict.Violated {
		return CauseNone
	}
	return mostly(causesOf(v))
}

// causesOf are the causes that a verdict counts.
func causesOf(v verdict.Verdict) map[attribution.Cause]float64 {
	causes := make(map[attribution.Cause]float64)
	for name, n := range v.Numbers {
		if cause, ok := strings.CutPrefix(name, attribution.CauseNumber); ok {
			causes[attribution.Cause(cause)] = n
		}
	}
	return causes
}

// mostly is the most frequent cause.
func mostly(causes map[attribution.Cause]float64) attribution.Cause {
	best, most := CauseNone, 0.0
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		if causes[cause] > most {
			best, most = cause, causes[cause]
		}
	}
	if best == attribution.CauseUnknown {
		return CauseNone
	}
	return best
}

// Confusion compares the causes that mutants planted with the causes that were reported. A harness that catches a mutant for
// another reason than the planted one was lucky.
type Confusion struct {
	// Planted and Reported are the rows and the columns, sorted.
	Planted, Reported []attribution.Cause
	counts            map[[2]attribution.Cause]int
}

// Add takes a mutant and the verdict of Caught on its run. A mutant that names no cause does not count. A mutant that was not
// caught agrees with no cause, because its record proves nothing.
func (c *Confusion) Add(m history.Mutant, caught verdict.Verdict) {
	if m.Cause == "" {
		return
	}
	planted, reported := attribution.Cause(m.Cause), mostly(causesOf(caught))
	if caught.Numbers[verdict.CaughtNumber] != 1 && reported == planted {
		reported = CauseNone
	}
	if c.counts == nil {
		c.counts = make(map[[2]attribution.Cause]int)
	}
	c.counts[[2]attribution.Cause{planted, reported}]++
	c.Planted, c.Reported = with(c.Planted, planted), with(c.Reported, reported)
}

// with adds a cause to a sorted list, once.
func with(list []attribution.Cause, cause attribution.Cause) []attribution.Cause {
	i, found := slices.BinarySearch(list, cause)
	if found {
		return list
	}
	return slices.Insert(list, i, cause)
}

// Count is how many mutants planted the one and were reported as the other.
func (c *Confusion) Count(planted, reported attribution.Cause) int {
	return c.counts[[2]attribution.Cause{planted, reported}]
}

// Agree is how many mutants were caught for the reason that was planted, of all.
func (c *Confusion) Agree() (agree, of int) {
	for pair, n := range c.counts {
		of += n
		if pair[0] == pair[1] {
			agree += n
		}
	}
	return agree, of
}
