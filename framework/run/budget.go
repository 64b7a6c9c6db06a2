package run

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// budget is the time of a run: it decides which scenarios a run with a limited time still begins. The zero value is no limit.
type budget struct {
	Limit time.Duration
	Began time.Time

	ended time.Duration // how long what has ended takes on two cores
	spent bool
}

// Fits reports whether a scenario would end within the limit, at the pace of those that have ended. The pace includes
// making the clusters, and is at least that of two cores: that the first scenarios were fast says little about the others. Once something was left
// out, all else is: a short one that still fits tells less. What tells most always fits.
func (b *budget) Fits(s scenario.Spec, now time.Time) bool {
	if b.Limit == 0 || s.First {
		return true
	}
	about := s.About
	passed := now.Sub(b.Began)
	if b.ended > 0 && passed > b.ended {
		about = time.Duration(about.Seconds() * passed.Seconds() / b.ended.Seconds() * float64(time.Second))
	}
	b.spent = b.spent || passed > b.Limit || about > b.Limit-passed
	return !b.spent
}

// Ended notes that a scenario has ended.
func (b *budget) Ended(s scenario.Spec) { b.ended += s.About }

// Spent is why scenarios were left out, as in runfolder.File.Interrupted; empty: none was.
func (b *budget) Spent() string {
	if !b.spent {
		return ""
	}
	return runfolder.OutOfTime + b.Limit.String()
}
