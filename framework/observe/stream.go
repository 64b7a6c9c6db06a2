package observe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// reconnectLimit is how long a watch tries to reconnect. No scenario keeps the API server away for longer.
const reconnectLimit = 15 * time.Minute

// A patient watch tries to reconnect for as long as it lasts: for eagerLimit as often as any other, and then once every patientPause, because
// the API server of somebody else may be away for hours, or accept no credentials until somebody logs in again.
const (
	eagerLimit   = time.Minute
	patientPause = 5 * time.Second
)

// object is an object of Kubernetes.
type object interface {
	runtime.Object
	metav1.Object
}

// stream follows one kind of object. It does not use client-go's RetryWatcher, which hides disconnections, drops bookmarks, and
// retries forever when the API server refuses a watch because its version is too old. The record must show all of these.
type stream struct {
	what  string
	lists func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	event func(runtime.Object, history.Change) history.Event
	sink  Sink
	// patient is set if the watch tries to reconnect for as long as it lasts.
	patient bool
	clock   ServerClock // nil: changes are not compared with it
	order   *order      // shared by all compared watches; nil: this watch is not compared
	// closing is closed when watching is about to end; nil: this stream ends with its context.
	closing <-chan struct{}

	version      string               // the resource version up to which everything was seen
	current      history.Offset       // when the watch was last known to be up to date
	known        map[types.UID]object // existing objects, to detect deletions after a gap
	disconnected history.Moment       // when the connection broke; reset when it is known that nothing was missed
	reconnected  history.Offset       // when the connection was restored
	reason       string               // why the connection broke, or could not be resumed
	gap          history.Moment       // when a bridged gap was last recorded
}

// errBroken means that the connection broke and must be resumed.
var errBroken = errors.New("the connection broke")

// errLost means that no answer came over the connection any more, as when packets are dropped on the way. Since when is not known.
var errLost = fmt.Errorf("%w: nothing was heard on it any more", errBroken)

// undecoded is how client-go marks the error of a watch whose connection did not come to an end, such as "http2: client connection lost".
//
// Source: newStreamWatcher in k8s.io/client-go/rest/request.go
const undecoded = "ClientWatchDecoding"

// errGone means that the API server no longer has the changes since s.version.
var errGone = errors.New("the API server no longer has the changes since the last one seen")

// follow watches from the listed version on until the context ends. A connection that breaks is resumed at the last
// version, and nothing is missed. If the API server cannot resume it, as is always the case after its restart, the missed
// changes are read back from its store. Both cases are bridged gaps. If reading back is impossible, follow records a gap
// that is not bridged and lists the state again. It also records such a gap if the context ends before a broken connection
// was resumed.
func (s *stream) follow(ctx context.Context) error {
	for {
		err := s.once(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errBroken) && !s.disconnected.OK:
			s.disconnected, s.reason = history.Moment{At: s.sink.Now(), OK: true}, err.Error()
			if errors.Is(err, errLost) {
				s.disconnected.At = s.current
			}
		}
		switch {
		case ended(ctx):
			return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{
				What: s.what, Since: s.current, Why: "it was disconnected when watching ended: " + err.Error(),
			}})
		case !errors.Is(err, errBroken):
			return err
		}
	}
}

// once watches until the connection breaks, or until the context ends, which is not an error. If changes were missed, it
// lists again.
func (s *stream) once(ctx context.Context) error {
	before := s.version
	w, err := s.connect(ctx)
	if err == nil {
		s.reconnected = s.sink.Now()
		err = s.drain(ctx, w)
		w.Stop()
	}
	if errors.Is(err, errGone) {
		err = cmp.Or(s.relist(ctx), errBroken)
		before = s.version
	}
	if errors.Is(err, errBroken) && s.version == before {
		// Pause, so that an API server that ends watches at once is not flooded with requests.
		return cmp.Or(poll.Pass(ctx, poll.Interval), err)
	}
	return err
}

// connect opens a watch. It retries while the API server is away.
func (s *stream) connect(ctx context.Context) (w watch.Interface, err error) {
	// The watch must outlive this wait, so it gets the caller's context and not the limited one of poll.
	err = s.retry(ctx, "a watch of "+s.what, func(context.Context) (bool, string, error) {
		w, err = s.watch(ctx, metav1.ListOptions{ResourceVersion: s.version, AllowWatchBookmarks: true})
		if isGone(err) {
			return true, "", nil
		}
		return err == nil, "no connection", err
	})
	if err == nil && w == nil {
		return nil, errGone
	}
	return w, err
}

// retry repeats a check until it is done. While the API server is away, that lasts as long as reconnectLimit, or as the watch if it is patient.
func (s *stream) retry(ctx context.Context, what string, check poll.Check) error {
	if !s.patient {
		return poll.Until(ctx, what, reconnectLimit, check)
	}
	err := poll.Until(ctx, what, eagerLimit, check)
	for err != nil && !ended(ctx) {
		if poll.Pass(ctx, patientPause) != nil {
			break
		}
		var done bool
		if done, _, err = check(ctx); err == nil && !done {
			err = errBroken
		}
	}
	return err
}

// acceptedAfter is how long a new watch must have been open to count as resumed: if the API server no longer knows the
// version, it reports that immediately, as the first event.
const acceptedAfter = time.Second

// drain records changes until the context ends or the connection breaks. A connection that ends because the context ended
// is not broken.
func (s *stream) drain(ctx context.Context, w watch.Interface) error {
	accepted := time.NewTimer(acceptedAfter)
	defer accepted.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.ended()
		case <-s.closing:
			return s.conclude(ctx, w)
		case <-accepted.C:
			if err := s.resumed(); err != nil {
				return err
			}
		case e, open := <-w.ResultChan():
			if ended(ctx) {
				return s.ended()
			}
			if !open {
				return errBroken
			}
			if e.Type == watch.Error {
				switch err := apierrors.FromObject(e.Object); {
				case isGone(err):
					return errGone
				case apierrors.HasStatusCause(err, undecoded):
					return errLost
				}
				return errBroken // whatever the error is, resume from the last version
			}
			if err := cmp.Or(s.resumed(), s.recordChange(e)); err != nil {
				return err
			}
		}
	}
}

// noticeable is how long a connection may be away without a gap in the record: an API server ends every watch from time to
// time, and promises allow for changes that are reported this late.
const noticeable = time.Second

// ended is called when watching ends. It returns nil unless a broken connection is not yet known to be resumed.
func (s *stream) ended() error {
	if s.disconnected.OK && s.reconnected-s.disconnected.At > noticeable {
		return errBroken
	}
	return nil
}

// resumed records that a broken watch was resumed: everything that happened in the meantime is reported now.
func (s *stream) resumed() error {
	was := s.disconnected
	s.disconnected = history.Moment{}
	if was.OK && s.reconnected-was.At > noticeable {
		s.gap = history.Moment{At: s.sink.Now(), OK: true}
		return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{
			What: s.what, Since: s.current, Bridged: true, Why: s.reason + ", and the watch resumed where it broke",
		}})
	}
	return nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

// recordChange records one change. A kubelet that says every five minutes that its node is as before is left out: that is half of what a quiet day has.
func (s *stream) recordChange(e watch.Event) error {
	o, is := e.Object.(object)
	if !is {
		return fmt.Errorf("read a change of %s: it is a %T", s.what, e.Object)
	}
	slim(o)
	s.version, s.current = o.GetResourceVersion(), s.sink.Now()
	change := map[watch.EventType]history.Change{
		watch.Added: history.Added, watch.Modified: history.Modified, watch.Deleted: history.Deleted,
	}[e.Type]
	if change == "" { // a bookmark only advances the version
		return nil
	}
	before, known := s.known[o.GetUID()]
	same := known && change == history.Modified && s.what == "nodes" && reflect.DeepEqual(s.event(before, change), s.event(o, change))
	if change == history.Deleted {
		delete(s.known, o.GetUID())
	} else {
		s.known[o.GetUID()] = o
	}
	if err := cmp.Or(s.compare(s.version), s.compareTime(o, before)); err != nil || same {
		return err
	}
	return s.record(o, change)
}

// slim removes what no history contains and what is a large part of most objects: all existing objects are kept in memory.
func slim(o metav1.Object) {
	o.SetManagedFields(nil)
	if notes := o.GetAnnotations(); notes[corev1.LastAppliedConfigAnnotation] != "" {
		notes = maps.Clone(notes)
		delete(notes, corev1.LastAppliedConfigAnnotation)
		o.SetAnnotations(notes)
	}
}

// relist lists again, and retries until that succeeds, when the watch cannot be resumed. If all missed changes can be read
// back, it records a bridged gap and then the changes in order. Otherwise it records a gap that is not bridged, and the
// listed state.
func (s *stream) relist(ctx context.Context) (err error) {
	var found listed
	err = s.retry(ctx, "a list of "+s.what, func(ctx context.Context) (bool, string, error) {
		found, err = s.fetch(ctx, metav1.ListOptions{})
		return err == nil, "no list", err
	})
	if err != nil {
		return err
	}
	s.disconnected = history.Moment{}
	missed, why := s.readBack(ctx, found)
	gap := &history.Gap{What: s.what, Since: s.current, Bridged: why == nil, Why: errGone.Error()}
	if why == nil {
		gap.Why += fmt.Sprintf("; %d read back from its store", len(missed))
	} else {
		gap.Why += ", and they cannot be read back: " + why.Error()
	}
	if err := s.sink.Append(history.Event{T: s.sink.Now(), Gap: gap}); err != nil {
		return err
	}
	if !gap.Bridged {
		return s.recordList(found)
	}
	for _, m := range missed {
		if err := s.record(m.object, m.change); err != nil {
			return err
		}
	}
	s.version, s.current, s.known = found.version, s.sink.Now(), found.objects
	return nil
}

// list records the current state.
func (s *stream) list(ctx context.Context) error {
	found, err := s.fetch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return s.recordList(found)
}

// listed is the state at a version.
type listed struct {
	version string
	order   []types.UID
	objects map[types.UID]object
}

func (s *stream) fetch(ctx context.Context, o metav1.ListOptions) (found listed, err error) {
	list, err := s.lists(ctx, o)
	if err != nil {
		return found, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return found, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return found, err
	}
	found = listed{version: accessor.GetResourceVersion(), objects: make(map[types.UID]object)}
	for _, item := range items {
		o, is := item.(object)
		if !is {
			return found, fmt.Errorf("it has a %T", item)
		}
		slim(o)
		found.order = append(found.order, o.GetUID())
		found.objects[o.GetUID()] = o
	}
	return found, nil
}

// recordList records the listed objects. Deletions come first: histories identify most objects by name, so an object that
// replaces a deleted one of the same name must come after it.
func (s *stream) recordList(found listed) error {
	for uid, object := range s.known {
		if _, still := found.objects[uid]; !still {
			if err := s.record(object, history.Deleted); err != nil {
				return err
			}
		}
	}
	s.version, s.current, s.known = found.version, s.sink.Now(), found.objects
	for _, uid := range found.order {
		if err := s.record(found.objects[uid], history.Listed); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) record(object runtime.Object, change history.Change) error {
	event := s.event(object, change)
	if event == (history.Event{}) {
		return nil // the object contains nothing relevant
	}
	event.T = s.sink.Now()
	return s.sink.Append(event)
}

// isGone reports whether the API server no longer has the version that the watch asked for.
func isGone(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
