package invariant

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// CauseNone stands for the cause that a verdict does not name, because the promise was not seen broken, or the failures have
// none that is known.
const CauseNone Cause = "none"

// NamesCauses tells whether a kind of promise says why requests failed. A mutant that it must catch has to name the cause
// that it plants.
func NamesCauses(kind string) bool { return kind == "NoFailedRequests" || kind == "FailuresEndWithin" }

// ReportedCause is the cause that a verdict names: that of its numbers "cause.<name>" which is the largest. So can any promise
// name one, in words of its own.
func ReportedCause(v Verdict) Cause {
	if v.Outcome != Violated {
		return CauseNone
	}
	return mostly(causesOf(v))
}

// causesOf are the causes that a verdict counts.
func causesOf(v Verdict) map[Cause]float64 {
	causes := make(map[Cause]float64)
	for name, n := range v.Numbers {
		if cause, ok := strings.CutPrefix(name, CauseNumber); ok {
			causes[Cause(cause)] = n
		}
	}
	return causes
}

// mostly is the largest of the causes.
func mostly(causes map[Cause]float64) Cause {
	best, most := CauseNone, 0.0
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		if causes[cause] > most {
			best, most = cause, causes[cause]
		}
	}
	if best == CauseUnknown {
		return CauseNone
	}
	return best
}

// Confusion lays the causes that mutants planted against those that were reported. A harness that catches a mutant for
// another reason than the one that was planted was lucky.
type Confusion struct {
	// Planted and Reported are the rows and the columns, sorted.
	Planted, Reported []Cause
	counts            map[[2]Cause]int
}

// Add takes a mutant and what Caught says of its run. A mutant that names no cause is left out. One that was not caught agrees
// with no cause: from a record that proves nothing none is taken.
func (c *Confusion) Add(m history.Mutant, caught Verdict) {
	if m.Cause == "" {
		return
	}
	planted, reported := Cause(m.Cause), mostly(causesOf(caught))
	if caught.Numbers[CaughtNumber] != 1 && reported == planted {
		reported = CauseNone
	}
	if c.counts == nil {
		c.counts = make(map[[2]Cause]int)
	}
	c.counts[[2]Cause{planted, reported}]++
	c.Planted, c.Reported = with(c.Planted, planted), with(c.Reported, reported)
}

// with adds a cause to a sorted list, once.
func with(list []Cause, cause Cause) []Cause {
	i, found := slices.BinarySearch(list, cause)
	if found {
		return list
	}
	return slices.Insert(list, i, cause)
}

// Count is how many mutants planted the one and were reported as the other.
func (c *Confusion) Count(planted, reported Cause) int { return c.counts[[2]Cause{planted, reported}] }

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
