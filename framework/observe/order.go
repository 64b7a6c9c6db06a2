package observe

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// order compares the watches with each other. The store of an API server numbers all changes, of whatever kind, in the order in
// which they were made. So a change that is told long after one which was made later was late, and the watch that tells of it lags
// behind alone, which no echo on another watch shows. Echoes come every second, and so do numbers to compare with.
//
// Kubernetes Events are left out: they may be kept in a store of their own, whose numbers are others.
//
// Source: https://etcd.io/docs/latest/learning/data_model/ (Logical view: revisions)
type order struct {
	mu   sync.Mutex
	told []toldOf // of the changes that were made later than all that had been told of before: both numbers and moments rise
}

// toldOf is when a change was told of.
type toldOf struct {
	version uint64
	at      history.Offset
}

// tell notes that a change is told of now. If one that was made later was told of before, it returns when; and since when what was
// told of was made no later than this one.
func (o *order) tell(version string, now history.Offset) (since, later history.Offset, overtaken bool) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || o == nil {
		return 0, 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i, _ := slices.BinarySearchFunc(o.told, n, func(t toldOf, n uint64) int { return cmp.Compare(t.version, n) })
	if i > 0 {
		since = o.told[i-1].at
	}
	switch {
	case i == len(o.told):
		o.told = append(o.told, toldOf{n, now})
		return 0, 0, false
	case o.told[i].version == n: // the same change again
		i++
	}
	if i == len(o.told) {
		return 0, 0, false
	}
	return since, o.told[i].at, true
}

// compare records a gap if a watch tells of a change too late, by what others have told: all of it is in the record, in its order,
// and dated late.
func (s *stream) compare(version string) error {
	now := s.sink.Now()
	since, later, overtaken := s.order.tell(version, now)
	if !overtaken || now-later <= noticeable || s.gap.OK && now-s.gap.At <= noticeable {
		return nil
	}
	s.gap = history.Moment{At: now, OK: true}
	return s.sink.Append(history.Event{T: now, Gap: &history.Gap{
		What: s.what, Since: since, Bridged: true,
		Why: "it told of a change " + (now - later).String() + " after another watch had told of one that was made later",
	}})
}
