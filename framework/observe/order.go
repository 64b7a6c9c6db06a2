package observe

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// ServerClock bounds what the clock of the API server shows now.
type ServerClock interface {
	// Bounds are the earliest and the latest time that the clock may show; not ok: it is not known yet.
	Bounds() (earliest, latest time.Time, ok bool)
}

// compareTime records a bridged gap if this watch reports a change long after the API server has dated it. It is for clusters in which the
// harness changes nothing whose report it could wait for. Kubernetes Events are left out: their watch shows readers of a report something, and proves nothing.
//
// What is slow between the date and the store, such as a validating webhook, looks like a watch that is late, too.
func (s *stream) compareTime(object, was metav1.Object) error {
	if s.clock == nil || s.what == notes {
		return nil
	}
	at, dated := datedBy(object, was)
	earliest, latest, known := s.clock.Bounds()
	now := s.sink.Now()
	if !dated || !known || s.gap.OK && now-s.gap.At <= noticeable {
		return nil
	}
	// The API server dates in whole seconds, rounded down.
	late := earliest.Sub(at.Add(time.Second))
	if late <= noticeable {
		return nil
	}
	s.gap = history.Moment{At: now, OK: true}
	return s.sink.Append(history.Event{T: now, Gap: &history.Gap{
		What: s.what, Since: max(0, now-latest.Sub(at)), Bridged: true,
		Why: "it reported a change at least " + late.Round(100*time.Millisecond).String() + " after the API server had dated it",
	}})
}

// datedBy is when the API server made a change, if the object says so: when it was created, or when its deletion was asked for.
func datedBy(object, was metav1.Object) (at time.Time, ok bool) {
	deletion := object.GetDeletionTimestamp()
	switch {
	case was == nil:
		created := object.GetCreationTimestamp()
		return created.Time, !created.IsZero()
	case deletion == nil || was.GetDeletionTimestamp() != nil:
		return time.Time{}, false
	}
	grace := time.Duration(0)
	if seconds := object.GetDeletionGracePeriodSeconds(); seconds != nil {
		grace = time.Duration(*seconds) * time.Second
	}
	return deletion.Add(-grace), true
}
