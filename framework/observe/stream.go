package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// reconnectLimit bounds how long a watch tries to come back. No scenario keeps the API server away for longer.
const reconnectLimit = 15 * time.Minute

// stream follows one kind of object.
type stream struct {
	what  string
	lists func(context.Context, metav1.ListOptions) (runtime.Object, error)
	watch func(context.Context, metav1.ListOptions) (watch.Interface, error)
	event func(runtime.Object, history.Change) history.Event
	sink  Sink

	version string                       // the resource version up to which everything was seen
	current history.Offset               // when the watch was last known to be up to date
	known   map[types.UID]runtime.Object // what exists, to notice after a gap what no longer does
}

// errGone says that the API server no longer has the changes since our version.
var errGone = errors.New("the changes since the last one seen are no longer kept by the API server")

// follow watches from the listed version on until the context ends. A connection that breaks is taken up where it
// broke, and nothing is missed; when that is not possible, a gap is recorded and the state listed again.
func (s *stream) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		// What breaks once we stop breaks because we stopped.
		if err := s.once(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// once watches until the connection breaks, and mends a gap if there is one.
func (s *stream) once(ctx context.Context) error {
	w, err := s.connect(ctx)
	if err == nil {
		err = s.drain(ctx, w)
		w.Stop()
	}
	if errors.Is(err, errGone) {
		return s.relist(ctx, &history.Gap{What: s.what, Since: s.current, Why: err.Error()})
	}
	return err
}

// connect opens a watch, trying again while the API server is away.
func (s *stream) connect(ctx context.Context) (w watch.Interface, err error) {
	// The watch has to outlive the wait for it, so it is given the caller's context and not the one that poll bounds.
	err = poll.Until(ctx, "a watch of "+s.what, reconnectLimit, func(context.Context) (bool, string, error) {
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

// drain records changes until the watch ends. It returns nil when the connection was merely closed.
func (s *stream) drain(ctx context.Context, w watch.Interface) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, open := <-w.ResultChan():
			if !open {
				return nil
			}
			if e.Type == watch.Error {
				if isGone(apierrors.FromObject(e.Object)) {
					return errGone
				}
				return nil // any other trouble: take it up again from the version we have
			}
			if err := s.take(e); err != nil {
				return err
			}
		}
	}
}

// take records one change.
func (s *stream) take(e watch.Event) error {
	object, err := meta.Accessor(e.Object)
	if err != nil {
		return fmt.Errorf("read a change of %s: %w", s.what, err)
	}
	s.version, s.current = object.GetResourceVersion(), s.sink.Now()
	change := map[watch.EventType]history.Change{
		watch.Added: history.Added, watch.Modified: history.Modified, watch.Deleted: history.Deleted,
	}[e.Type]
	if change == "" { // a bookmark: it only moves the version on
		return nil
	}
	if change == history.Deleted {
		delete(s.known, object.GetUID())
	} else {
		s.known[object.GetUID()] = e.Object
	}
	return s.record(e.Object, change)
}

// relist lists again after a gap, as often as it takes.
func (s *stream) relist(ctx context.Context, gap *history.Gap) error {
	return poll.Until(ctx, "a list of "+s.what, reconnectLimit, func(ctx context.Context) (bool, string, error) {
		err := s.list(ctx, gap)
		return err == nil, "no list", err
	})
}

// list records the present state. With a gap, it records that first, and what has vanished meanwhile as deleted.
func (s *stream) list(ctx context.Context, gap *history.Gap) error {
	list, err := s.lists(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return err
	}
	if gap != nil {
		if err := s.sink.Append(history.Event{T: s.sink.Now(), Gap: gap}); err != nil {
			return err
		}
	}
	before := s.known
	s.version, s.current, s.known = accessor.GetResourceVersion(), s.sink.Now(), map[types.UID]runtime.Object{}
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			return err
		}
		s.known[object.GetUID()] = item
		delete(before, object.GetUID())
		if err := s.record(item, history.Listed); err != nil {
			return err
		}
	}
	for _, vanished := range before {
		if err := s.record(vanished, history.Deleted); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) record(object runtime.Object, change history.Change) error {
	event := s.event(object, change)
	event.T = s.sink.Now()
	return s.sink.Append(event)
}

// isGone tells whether the API server has given up the version we asked to watch from.
func isGone(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
