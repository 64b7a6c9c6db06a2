package observe

import (
	"context"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// listLimit is the time-out of the list that a watch is compared with at its end.
	listLimit = 5 * time.Second
	// catchUpLimit is how long a watch may take to report what the list contains. Promises allow for a delay of one second.
	catchUpLimit = 2 * time.Second
	// patientListLimit is listLimit for a cluster of somebody else, which may be large and far away.
	patientListLimit = 30 * time.Second
)

// concludeLimit is the maximum for a list and the watch. Streams without a connection are not waited for any longer.
func concludeLimit(list time.Duration) time.Duration { return list + catchUpLimit + time.Second }

// conclude compares what a watch has reported with a list, just before watching ends. Without the comparison, a watch that
// silently stopped reporting would look like a cluster in which nothing happens.
func (s *stream) conclude(ctx context.Context, w watch.Interface) error {
	limited, cancel := context.WithTimeout(ctx, s.listLimit())
	defer cancel()
	found, err := s.fetch(limited, metav1.ListOptions{})
	if err != nil {
		return s.recordGap("it could not be compared with a list at the end: " + err.Error())
	}
	catchingUp, stop := context.WithTimeout(ctx, catchUpLimit)
	defer stop()
	for {
		missing := s.unreported(found)
		if missing == "" {
			return s.ended()
		}
		select {
		case <-catchingUp.Done():
			return s.recordGap("a list at the end shows " + missing + ", which the watch never reported")
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				return s.recordGap("the watch broke before it reported " + missing + ", which a list at the end shows")
			}
			if err := s.recordChange(e); err != nil {
				return err
			}
		}
	}
}

func (s *stream) listLimit() time.Duration {
	if s.patient {
		return patientListLimit
	}
	return listLimit
}

// recordGap records a gap since the watch was last known to be up to date.
func (s *stream) recordGap(why string) error {
	return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{What: s.what, Since: s.current, Why: why}})
}

// unreported describes one difference between a list and what the watch has reported; empty if there is none. A watch that has
// reported a later version than the list's has reported everything in the list.
func (s *stream) unreported(found listed) string {
	reported, reportedErr := strconv.ParseUint(s.version, 10, 64)
	shown, shownErr := strconv.ParseUint(found.version, 10, 64)
	if reportedErr == nil && shownErr == nil && reported >= shown {
		return ""
	}
	for uid, object := range found.objects {
		if was, known := s.known[uid]; !known || was.GetResourceVersion() != object.GetResourceVersion() {
			return "a change of " + object.GetName()
		}
	}
	for uid, object := range s.known {
		if _, there := found.objects[uid]; !there {
			return "that " + object.GetName() + " is gone"
		}
	}
	return ""
}
