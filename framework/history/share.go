package history

import (
	"fmt"
	"math"
)

// MaxLoadWorkers is how many load workers a record may have.
const MaxLoadWorkers = 1024

// Share is the part of the planned load that one of several load workers sends: of each lane the hits k with k mod Workers = Index.
// The shares of all workers together are the plan: no hit is in two of them, and a hit that is missing can be named. The zero value
// is the whole plan.
type Share struct {
	Index   int `json:"index"`
	Workers int `json:"workers,omitempty"` // 0: one
}

// workers is how many workers share the plan.
func (s Share) workers() uint64 { return uint64(max(1, s.Workers)) }

// Hit is the number in the plan of the worker's n-th hit, both counted from 0.
func (s Share) Hit(n uint64) uint64 { return uint64(s.Index) + n*s.workers() }

// Nth is the inverse of Hit: how many hits of this worker come before hit k of the plan, which must be one of its own.
func (s Share) Nth(k uint64) uint64 { return k / s.workers() }

// Below is how many of the first total hits of the plan are this worker's.
func (s Share) Below(total uint64) uint64 {
	if total <= uint64(s.Index) {
		return 0
	}
	return (total - uint64(s.Index) + s.workers() - 1) / s.workers()
}

// Of is the share of a rate, which may be a rate of anything.
func (s Share) Of(rate float64) float64 { return rate / float64(s.workers()) }

// Validate returns an error for a share that no plan has.
func (s Share) Validate() error {
	if s.Index < 0 || s.Workers < 0 || uint64(s.Index) >= s.workers() {
		return fmt.Errorf("share %d of %d workers: the number must be from 0 to %d", s.Index, s.workers(), s.workers()-1)
	}
	return nil
}

// String names the share as people count: "2 of 4".
func (s Share) String() string { return fmt.Sprintf("%d of %d", s.Index+1, s.workers()) }

// LoadShare is what a load worker was told to send, recorded before it begins. A worker that is lost leaves no totals: then this
// says which hits are missing.
type LoadShare struct {
	Worker string `json:"worker"`
	Share
	Lanes []LaneStart `json:"lanes"`
}

// Shares are the shares of the load workers, by their names. Older records have none.
func (r Run) Shares() map[string]Share {
	all := make(map[string]Share)
	for _, e := range r.Events {
		if e.Share != nil {
			all[e.Share.Worker] = e.Share.Share
		}
	}
	return all
}

// LaneStart is the schedule of a lane: hit k of the plan is due at Start + k/RatePerSecond.
type LaneStart struct {
	Lane          Lane    `json:"lane"`
	Start         Offset  `json:"start"`
	RatePerSecond float64 `json:"ratePerSecond"` // of all workers together
}

// DueBefore is how many hits of the lane, of all workers, are due before a moment.
func (l LaneStart) DueBefore(at Offset) uint64 {
	if at <= l.Start || l.RatePerSecond <= 0 {
		return 0
	}
	const rounding = 1e-6 // of a hit
	return uint64(math.Ceil(max(0, (at-l.Start).Seconds()*l.RatePerSecond-rounding)))
}
