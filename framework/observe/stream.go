package observe

import (
	"cmp"
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
	order *order // of what all watches tell; nil: this one is not compared
	// closing is closed when the watching is about to end; nil: that is not told.
	closing <-chan struct{}

	version string                       // the resource version up to which everything was seen
	current history.Offset               // when the watch was last known to be up to date
	known   map[types.UID]runtime.Object // what exists, to notice after a gap what no longer does
	broken  history.Moment               // since when there was no connection, until it is known that nothing was missed
	back    history.Offset               // when there was one again
	why     string                       // it broke, or could not be taken up
	gap     history.Moment               // when a gap was last recorded that was bridged
}

// errBroken says that the connection is no longer there, and has to be taken up.
var errBroken = errors.New("the connection broke")

// errGone says that the API server no longer has the changes since our version.
var errGone = errors.New("the changes since the last one seen are no longer kept by the API server")

// follow watches from the listed version on until the context ends. A connection that breaks is taken up where it
// broke, and nothing is missed; where the API server cannot do that, which a restarted one never can, what was missed is
// read back from its store. Either is a gap that is bridged. When that is not possible, a gap is recorded and the state
// listed again. So it is when the context ends before a broken connection was taken up.
func (s *stream) follow(ctx context.Context) error {
	for {
		err := s.once(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errBroken) && !s.broken.OK:
			s.broken, s.why = history.Moment{At: s.sink.Now(), OK: true}, err.Error()
		}
		switch {
		case ended(ctx):
			return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{
				What: s.what, Since: s.current, Why: "it had broken off when the watching ended: " + err.Error(),
			}})
		case !errors.Is(err, errBroken):
			return err
		}
	}
}

// once watches until the context ends, which is no error, or until the connection breaks. If there is a gap, it is
// mended.
func (s *stream) once(ctx context.Context) error {
	before := s.version
	w, err := s.connect(ctx)
	if err == nil {
		s.back = s.sink.Now()
		err = s.drain(ctx, w)
		w.Stop()
	}
	if errors.Is(err, errGone) {
		err = cmp.Or(s.relist(ctx), errBroken)
		before = s.version
	}
	if errors.Is(err, errBroken) && s.version == before {
		// An API server that ends watches at once must not be asked without a pause.
		return cmp.Or(poll.Pass(ctx, poll.Interval), err)
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

// acceptedAfter is how long a new watch must have been open to be one that the API server goes on with: that it does not
// know the version any more it says at once, but as the first event.
const acceptedAfter = time.Second

// drain records changes until the context ends, or until the connection does. One that ends because we stop is not
// broken.
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
				if isGone(apierrors.FromObject(e.Object)) {
					return errGone
				}
				return errBroken // whatever the trouble is: take it up from the version we have
			}
			if err := cmp.Or(s.resumed(), s.take(e)); err != nil {
				return err
			}
		}
	}
}

// noticeable is how long a connection may be away without a word in the record: an API server ends each watch now and then,
// and promises reckon with changes that are told so much later.
const noticeable = time.Second

// ended is nil when the watching ends, unless a connection that was away is not yet known to go on where it broke.
func (s *stream) ended() error {
	if s.broken.OK && s.back-s.broken.At > noticeable {
		return errBroken
	}
	return nil
}

// resumed records that a watch goes on where it had broken off: all that happened meanwhile comes now.
func (s *stream) resumed() error {
	was := s.broken
	s.broken = history.Moment{}
	if was.OK && s.back-was.At > noticeable {
		s.gap = history.Moment{At: s.sink.Now(), OK: true}
		return s.sink.Append(history.Event{T: s.sink.Now(), Gap: &history.Gap{
			What: s.what, Since: s.current, Bridged: true, Why: s.why + ", and was taken up where it broke",
		}})
	}
	return nil
}

func ended(ctx context.Context) bool { return ctx.Err() != nil }

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
	return cmp.Or(s.compare(s.version), s.record(e.Object, change))
}

// relist lists again when the watch cannot go on, as often as it takes. If all that was missed can be read back, it is
// recorded in its order, after a gap that is bridged; else a gap is, and the state as it was listed.
func (s *stream) relist(ctx context.Context) (err error) {
	var found listed
	err = poll.Until(ctx, "a list of "+s.what, reconnectLimit, func(ctx context.Context) (bool, string, error) {
		found, err = s.fetch(ctx, metav1.ListOptions{})
		return err == nil, "no list", err
	})
	if err != nil {
		return err
	}
	s.broken = history.Moment{}
	missed, why := s.readBack(ctx, found)
	gap := &history.Gap{What: s.what, Since: s.current, Bridged: why == nil, Why: errGone.Error()}
	if why == nil {
		gap.Why += fmt.Sprintf("; %d read back from its store", len(missed))
	} else {
		gap.Why += ", nor could they be read back: " + why.Error()
	}
	if err := s.sink.Append(history.Event{T: s.sink.Now(), Gap: gap}); err != nil {
		return err
	}
	if !gap.Bridged {
		return s.begin(found)
	}
	for _, m := range missed {
		if err := s.record(m.object, m.change); err != nil {
			return err
		}
	}
	s.version, s.current, s.known = found.version, s.sink.Now(), found.objects
	return nil
}

// list records the present state.
func (s *stream) list(ctx context.Context) error {
	found, err := s.fetch(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	return s.begin(found)
}

// listed is the state at a version.
type listed struct {
	version string
	order   []types.UID
	objects map[types.UID]runtime.Object
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
	found = listed{version: accessor.GetResourceVersion(), objects: make(map[types.UID]runtime.Object)}
	for _, item := range items {
		object, err := meta.Accessor(item)
		if err != nil {
			return found, err
		}
		found.order = append(found.order, object.GetUID())
		found.objects[object.GetUID()] = item
	}
	return found, nil
}

// begin records what was listed, and before it what is no longer there: most objects go by their names, so that who came
// under the name of one that went must come after.
func (s *stream) begin(found listed) error {
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
		return nil // the object says nothing that is of interest
	}
	event.T = s.sink.Now()
	return s.sink.Append(event)
}

// isGone tells whether the API server has given up the version we asked to watch from.
func isGone(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
