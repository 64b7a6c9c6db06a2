package observe

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// order compares the watches with each other. The API server's store numbers all changes, of every kind, in the order in
// which they were made. If a watch reports a change long after another watch reported a later change, the first watch is
// late. The echo cannot show that, because it is on another watch. Echoes arrive every second, so there is always a recent
// number to compare with.
//
// Kubernetes Events are not compared: they may be kept in a separate store with its own numbers.
//
// Source: https://etcd.io/docs/latest/learning/data_model/ (Logical view: revisions)
type order struct {
	mu      sync.Mutex
	reports []report // reports of a version higher than all reported before; both fields increase
}

// report is when a change was reported.
type report struct {
	version uint64
	at      history.Offset
}

// report notes that the change with this version is reported now. If a later change was reported before, report returns when the
// first such report came (later), and when the last older change was reported (since).
func (o *order) report(version string, now history.Offset) (since, later history.Offset, overtaken bool) {
	n, err := strconv.ParseUint(version, 10, 64)
	if err != nil || o == nil {
		return 0, 0, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	i, _ := slices.BinarySearchFunc(o.reports, n, func(r report, n uint64) int { return cmp.Compare(r.version, n) })
	if i > 0 {
		since = o.reports[i-1].at
	}
	switch {
	case i == len(o.reports):
		o.reports = append(o.forgotten(now), report{n, now})
		return 0, 0, false
	case o.reports[i].version == n: // the same change again
		i++
	}
	if i == len(o.reports) {
		return 0, 0, false
	}
	return since, o.reports[i].at, true
}

// remembered is how long a report is kept at least, so that a recording of days does not need ever more memory. A watch that falls behind for
// longer is noticed all the same: its change is older than all that is kept.
const remembered = 10 * time.Minute

// forgotten are the reports without old ones. Half of them go at a time, so that this costs little.
func (o *order) forgotten(now history.Offset) []report {
	if half := len(o.reports) / 2; half > 0 && now-o.reports[half].at > remembered {
		return slices.Clone(o.reports[half:])
	}
	return o.reports
}

// compare records a bridged gap if this watch reports a change much later than another watch reported a later change: the
// record then contains all changes in their order, but with late times.
func (s *stream) compare(version string) error {
	now := s.sink.Now()
	since, later, overtaken := s.order.report(version, now)
	if !overtaken || now-later <= noticeable || s.gap.OK && now-s.gap.At <= noticeable {
		return nil
	}
	s.gap = history.Moment{At: now, OK: true}
	return s.sink.Append(history.Event{T: now, Gap: &history.Gap{
		What: s.what, Since: since, Bridged: true,
		Why: "it reported a change " + (now - later).String() + " after another watch had reported a later one",
	}})
}
