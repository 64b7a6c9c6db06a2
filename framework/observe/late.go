package observe

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

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
