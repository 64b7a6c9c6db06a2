package observe

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// listLimit bounds the list with which a watch is compared at its end.
	listLimit = 5 * time.Second
	// catchUpLimit is how long a watch may take to tell of what a list has shown: a second is the skew that promises reckon with.
	catchUpLimit = 2 * time.Second
	// concludeLimit bounds both, and leaves those alone that have no connection.
	concludeLimit = listLimit + catchUpLimit + time.Second
)

// conclude compares, when the watching is about to end, what a watch has told with a list. A watch that fell silent without a word
// looks like a cluster in which nothing happens.
func (s *stream) conclude(ctx context.Context, w watch.Interface) error {
	limited, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	found, err := s.fetch(limited, metav1.ListOptions{})
	if err != nil {
		return s.lost("it could not be compared with a list at the end: " + err.Error())
	}
	limit := time.NewTimer(catchUpLimit)
	defer limit.Stop()
	for {
		untold := s.untold(found)
		if untold == "" {
			return s.ended()
		}
		select {
		case <-ctx.Done():
			return s.lost("a list at the end shows " + untold + ", of which it never told")
		case <-limit.C:
			return s.lost("a list at the end shows " + untold + ", of which it never told")
		case e, open := <-w.ResultChan():
			if !open || e.Type == watch.Error {
				return s.lost("it broke off before it told of " + untold + ", which a list at the end shows")
			}
			if err := s.take(e); err != nil {
				return err
			}
		}
	}
}

// lost records that changes are missing since the watch was last known to be up to date.
func (s *stream) lost(why string) error {
	return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{What: s.what, Since: s.current, Why: why}})
}

// untold names an object that a list has otherwise than the watch has told; empty: there is none. A watch that has told of later
// changes than the list has told of all of them.
func (s *stream) untold(found listed) string {
	told, toldErr := strconv.ParseUint(s.version, 10, 64)
	shown, shownErr := strconv.ParseUint(found.version, 10, 64)
	if toldErr == nil && shownErr == nil && told >= shown {
		return ""
	}
	for uid, object := range found.objects {
		if was, known := s.known[uid]; !known || versionOf(was) != versionOf(object) {
			return "a change of " + nameOf(object)
		}
	}
	for uid, object := range s.known {
		if _, there := found.objects[uid]; !there {
			return "that " + nameOf(object) + " is gone"
		}
	}
	return ""
}

func versionOf(o runtime.Object) string {
	object, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	return object.GetResourceVersion()
}

func nameOf(o runtime.Object) string {
	object, err := meta.Accessor(o)
	if err != nil {
		return "an object"
	}
	return object.GetName()
}
