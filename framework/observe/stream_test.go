package observe

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}}
}

// script is an API server for pods that returns the given lists and watches in order. After the last one it is away.
type script struct {
	lists   []any // []*corev1.Pod or error
	watches []any // watch.Interface or error
	asked   []string
	sink    *notebook
}

func (s *script) stream() *stream {
	return &stream{
		what: "pods", sink: s.sink,
		event: func(o runtime.Object, c history.Change) history.Event { return podEvent(o.(*corev1.Pod), c) },
		lists: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			next, err := take(&s.lists)
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			pods, _ := next.([]*corev1.Pod)
			for _, p := range pods {
				list.Items = append(list.Items, *p)
			}
			return list, err
		},
		watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			if !o.AllowWatchBookmarks {
				return nil, errors.New("without bookmarks a quiet watch is too old soon")
			}
			s.asked = append(s.asked, o.ResourceVersion)
			next, err := take(&s.watches)
			w, _ := next.(watch.Interface)
			return w, err
		},
	}
}

func take(from *[]any) (any, error) {
	if len(*from) == 0 {
		return nil, errors.New("connection refused")
	}
	next := (*from)[0]
	*from = (*from)[1:]
	err, _ := next.(error)
	return next, err
}

// played is a watch that sends these events and then closes.
func played(events ...watch.Event) *watch.FakeWatcher {
	w := watch.NewFakeWithChanSize(len(events), false)
	for _, e := range events {
		w.Action(e.Type, e.Object)
	}
	w.Stop()
	return w
}

// open is a watch that stays open and sends nothing.
func open() watch.Interface { return watch.NewFake() }

var (
	expired = apierrors.NewResourceExpired("too old resource version")
	gone    = &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone, Message: "gone"}}
	unwell  = apierrors.NewInternalError(errors.New("etcd is unwell"))
)

func trouble(err *apierrors.StatusError) watch.Event {
	return watch.Event{Type: watch.Error, Object: &err.ErrStatus}
}

// play lists the pods and follows them for a minute.
func (s *script) play(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return s.follow(ctx, t)
}

func (s *script) follow(ctx context.Context, t *testing.T) error {
	t.Helper()
	s.sink = &notebook{began: time.Now()}
	st := s.stream()
	if err := st.list(ctx); err != nil {
		t.Fatal(err)
	}
	return st.follow(ctx)
}

func TestABrokenWatchIsTakenUpWhereItBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{
			lists: []any{[]*corev1.Pod{pod("a", "9")}},
			watches: []any{
				played(watch.Event{Type: watch.Added, Object: pod("b", "11")},
					watch.Event{Type: watch.Bookmark, Object: pod("", "15")}),
				errors.New("connection refused"), errors.New("connection refused"),
				played(watch.Event{Type: watch.Deleted, Object: pod("a", "16")}),
				played(trouble(unwell)),
				open(),
			},
		}
		if err := s.play(t); err != nil {
			t.Fatal(err)
		}
		wantWords(t, s.sink, "listed a", "added b", "deleted a")
		if diff := cmp.Diff([]string{"10", "15", "15", "15", "16", "16"}, s.asked); diff != "" {
			t.Errorf("asked to watch from (-want +got):\n%s", diff)
		}
	})
}

func TestWhatMayHaveBeenMissedIsAGap(t *testing.T) {
	for name, end := range map[string]func() any{
		"refused at connect":          func() any { return expired },
		"refused at connect, as gone": func() any { return gone },
		"sent in the stream":          func() any { return played(trouble(expired)) },
		"sent in the stream, as gone": func() any { return played(trouble(gone)) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{
					lists:   []any{[]*corev1.Pod{pod("a", "9"), pod("b", "9")}, []*corev1.Pod{pod("b", "20"), pod("c", "21")}},
					watches: []any{end(), open()},
				}
				if err := s.play(t); err != nil {
					t.Fatal(err)
				}
				wantWords(t, s.sink, "listed a", "listed b", "gap since 0s", "deleted a", "listed b", "listed c")
				if gap := s.sink.events[2].Gap; gap.What != "pods" || !strings.HasPrefix(gap.Why, errGone.Error()) || gap.Bridged {
					t.Errorf("gap %+v", gap)
				}
			})
		})
	}
}

// TestAGapLastsFromTheLastThingSeenToTheNextList: it begins before the connection broke, because the watch may have been
// silent for some time before.
func TestAGapLastsFromTheLastThingSeenToTheNextList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := watch.NewFake()
		s := &script{
			lists:   []any{[]*corev1.Pod{pod("a", "9")}, errors.New("refused"), errors.New("refused"), []*corev1.Pod{pod("a", "20")}},
			watches: []any{live, open()},
		}
		go func() {
			time.Sleep(5 * time.Second)
			live.Modify(pod("a", "12"))
			time.Sleep(5 * time.Second)
			live.Error(&expired.ErrStatus)
		}()
		if err := s.play(t); err != nil {
			t.Fatal(err)
		}
		wantWords(t, s.sink, "listed a", "modified a", "gap since 5s", "listed a")
		if got, want := s.sink.events[2].T, 10*time.Second+2*poll.Interval; got != want {
			t.Errorf("the gap ends at %s, want %s", got, want)
		}
		if diff := cmp.Diff([]string{"10", "10"}, s.asked); diff != "" { // the second list is at version 10, too
			t.Errorf("asked to watch from (-want +got):\n%s", diff)
		}
	})
}

// TestSilenceIsNotCalm: a watch that is broken when watching ends may have missed anything since its last event.
func TestSilenceIsNotCalm(t *testing.T) {
	for name, s := range map[string]func() *script{
		"no connection": func() *script { return &script{} },
		"no list":       func() *script { return &script{watches: []any{expired}} },
		"nothing but troubles": func() *script {
			s := &script{}
			for range 1000 {
				s.watches = append(s.watches, played(trouble(unwell)))
			}
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := s()
				s.lists = []any{[]*corev1.Pod{pod("a", "9")}}
				if err := s.play(t); err != nil {
					t.Fatal(err)
				}
				wantWords(t, s.sink, "listed a", "gap since 0s")
				last := s.sink.events[1]
				if last.T != time.Minute || last.Gap.What != "pods" || !strings.HasPrefix(last.Gap.Why, "it was disconnected when watching ended: ") {
					t.Errorf("gap at %s: %+v", last.T, last.Gap)
				}
			})
		})
	}
}

// TestAServerThatEndsWatchesAtOnceIsNotPressed: reconnecting without a pause would only add load.
func TestAServerThatEndsWatchesAtOnceIsNotPressed(t *testing.T) {
	for name, ended := range map[string]func() any{
		"with nothing":       func() any { return played() },
		"with a trouble":     func() any { return played(trouble(unwell)) },
		"as being too old":   func() any { return played(trouble(expired)) },
		"by not being there": func() any { return expired },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &script{lists: []any{[]*corev1.Pod{}}}
				for range 1000 {
					s.lists, s.watches = append(s.lists, []*corev1.Pod{}), append(s.watches, ended())
				}
				if err := s.play(t); err != nil {
					t.Fatal(err)
				}
				if most := int(time.Minute/poll.Interval) + 1; len(s.asked) > most {
					t.Errorf("asked %d times in a minute, want at most %d", len(s.asked), most)
				}
			})
		})
	}
}

// TestAHistoryThatCannotBeWrittenEndsTheWatch, immediately and at every kind of write. A retry would silently leave out the
// event that could not be written.
func TestAHistoryThatCannotBeWrittenEndsTheWatch(t *testing.T) {
	full := errors.New("disk full")
	for name, s := range map[string]*script{
		"a change":  {watches: []any{func() any { return played(watch.Event{Type: watch.Added, Object: pod("b", "11")}) }}},
		"a gap":     {watches: []any{func() any { return expired }}},
		"a listing": {watches: []any{func() any { return expired }}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for i := range s.watches {
					s.watches[i] = s.watches[i].(func() any)()
				}
				s.lists = []any{[]*corev1.Pod{pod("a", "9")}, []*corev1.Pod{pod("b", "20")}}
				s.sink = &notebook{began: time.Now()}
				st := s.stream()
				if err := st.list(t.Context()); err != nil {
					t.Fatal(err)
				}
				st.sink = &fillsUp{notebook: s.sink, left: map[string]int{"a listing": 1}[name], err: full}
				if err := st.follow(t.Context()); !errors.Is(err, full) {
					t.Errorf("got %v, want disk full", err)
				}
				if at := s.sink.Now(); at != 0 {
					t.Errorf("it took %s", at)
				}
			})
		})
	}
}

// fillsUp accepts a limited number of events.
type fillsUp struct {
	*notebook
	left int
	err  error
}

func (f *fillsUp) Append(e history.Event) error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return f.notebook.Append(e)
}

// TestAConnectionOnWhichNothingIsHeard is lost for as long as nothing was heard on it, however soon another one is made: all watches of a client share it,
// so that none of them is late for the others.
func TestAConnectionOnWhichNothingIsHeard(t *testing.T) {
	reporter := apierrors.NewClientErrorReporter(http.StatusInternalServerError, "watch", undecoded)
	lost := watch.Event{Type: watch.Error, Object: reporter.AsObject(errors.New("unable to decode an event from the watch stream: http2: client connection lost"))}
	for name, test := range map[string]struct {
		silent time.Duration
		end    watch.Event // the zero Event: the server ends the watch
		gap    bool
	}{
		"for 45 s":                            {45 * time.Second, lost, true},
		"for 2 s":                             {2 * time.Second, lost, true},
		"for a moment":                        {500 * time.Millisecond, lost, false},
		"and which the server ends":           {45 * time.Second, watch.Event{}, false},
		"until the server says what is wrong": {45 * time.Second, trouble(unwell), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := watch.NewFakeWithChanSize(2, false)
				s := &script{lists: []any{[]*corev1.Pod{pod("a", "9")}}, watches: []any{live, played(watch.Event{Type: watch.Added, Object: pod("c", "16")}), open()}}
				go func() {
					time.Sleep(5 * time.Second)
					live.Add(pod("b", "15"))
					time.Sleep(test.silent)
					if test.end.Object != nil {
						live.Action(test.end.Type, test.end.Object)
					}
					live.Stop()
				}()
				if err := s.play(t); err != nil {
					t.Fatal(err)
				}
				var gaps []history.Event
				for _, e := range s.sink.events {
					if e.Gap != nil {
						gaps = append(gaps, e)
					}
				}
				if len(gaps) > 1 || (len(gaps) == 1) != test.gap {
					t.Fatalf("gaps %+v, want one: %t", gaps, test.gap)
				}
				if test.gap && (!gaps[0].Gap.Bridged || gaps[0].Gap.Since != 5*time.Second || gaps[0].T < 5*time.Second+test.silent) {
					t.Errorf("at %s: gap %+v", gaps[0].T, gaps[0].Gap)
				}
			})
		})
	}
}
