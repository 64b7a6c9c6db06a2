package observe

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// store is an API server whose store knows the state at every version, as a real one does for five minutes.
type store struct {
	states  map[int]map[string]int // by the version of a change: the pods' own versions, by name
	now     int
	oldest  int // oldest version that is kept
	asked   int // number of lists at past versions
	watches []any
}

func (s *store) at(version int) *corev1.PodList {
	for version > 0 && s.states[version] == nil { // the state is that of the last change
		version--
	}
	list := &corev1.PodList{}
	for name, own := range s.states[version] {
		list.Items = append(list.Items, *pod(name, strconv.Itoa(own)))
	}
	return list
}

func (s *store) stream(sink Sink) *stream {
	return &stream{
		what: "pods", sink: sink,
		event: func(o runtime.Object, c history.Change) history.Event { return podEvent(o.(*corev1.Pod), c) },
		lists: func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) {
			version := s.now
			if o.ResourceVersion != "" {
				if version, _ = strconv.Atoi(o.ResourceVersion); o.ResourceVersionMatch != metav1.ResourceVersionMatchExact {
					return nil, fmt.Errorf("a list that is %q version %d", o.ResourceVersionMatch, version)
				}
				s.asked++
			}
			if version < s.oldest {
				return nil, expired
			}
			list := s.at(version)
			list.ResourceVersion = strconv.Itoa(version)
			return list, nil
		},
		watch: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			next, err := take(&s.watches)
			w, _ := next.(watch.Interface)
			return w, err
		},
	}
}

// past is a store in which, from version 10 on, b is changed twice, c is created, a is deleted, and d is created and
// deleted.
func past() *store {
	return &store{now: 500, states: map[int]map[string]int{
		10:  {"a": 3, "b": 9},
		120: {"a": 3, "b": 120},
		121: {"a": 3, "b": 121},
		200: {"a": 3, "b": 121, "c": 200},
		377: {"b": 121, "c": 200},
	}}
}

// gapOf returns the only gap.
func gapOf(t *testing.T, sink *notebook) (gap history.Gap) {
	t.Helper()
	for _, e := range sink.events {
		if e.Gap != nil {
			gap = *e.Gap
		}
	}
	return gap
}

// TestWhatARestartedServerHasForgottenIsReadBack: all changes in order, and the gap is bridged.
func TestWhatARestartedServerHasForgottenIsReadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, sink := past(), &notebook{began: time.Now()}
		s.now = 10
		st := s.stream(sink)
		if err := st.list(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.now, s.watches = 500, []any{played(trouble(expired)), open()}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := st.follow(ctx); err != nil {
			t.Fatal(err)
		}
		listed := sink.words()[:2]
		if !strings.HasPrefix(listed[0], "listed ") || !strings.HasPrefix(listed[1], "listed ") {
			t.Errorf("at first: %q", listed)
		}
		sink.events = sink.events[2:]
		wantWords(t, sink, "gap since 0s", "modified b", "modified b", "added c", "deleted a")
		if gap := gapOf(t, sink); !gap.Bridged || !strings.HasSuffix(gap.Why, "; 4 read back from its store") {
			t.Errorf("gap %+v", gap)
		}
		if st.version != "500" || s.asked > 40 {
			t.Errorf("it goes on from %s, after %d lists of the past", st.version, s.asked)
		}
	})
}

// TestWhatCannotBeReadBackIsAGap: the gap is not bridged, and the state is listed.
func TestWhatCannotBeReadBackIsAGap(t *testing.T) {
	many := past()
	for v := 11; v < 500; v++ {
		many.states[v] = map[string]int{"b": v}
	}
	compacted := past()
	compacted.oldest = 400
	restored := past()
	restored.now = 5
	restored.states[5] = map[string]int{"a": 3}
	for name, s := range map[string]*store{
		"more than 300 lists would be needed":   many,
		"list pods at version 255: too old":     compacted,
		"version 5 is older than 10, which was": restored,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink, now := &notebook{began: time.Now()}, s.now
				s.now, s.watches = 10, []any{expired, open()} // made here, because a channel belongs to its synctest bubble
				oldest := s.oldest
				s.oldest = 0
				st := s.stream(sink)
				if err := st.list(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.now, s.oldest = now, oldest
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := st.follow(ctx); err != nil {
					t.Fatal(err)
				}
				gap := gapOf(t, sink)
				if gap.Bridged || !strings.Contains(gap.Why, ", and they cannot be read back: "+name) {
					t.Errorf("gap %+v", gap)
				}
				if words := sink.words(); !strings.HasPrefix(words[len(words)-1], "listed ") {
					t.Errorf("after the gap: %q", words)
				}
			})
		})
	}
}

// TestAConnectionThatWasAwayIsABridgedGap once the watch has resumed. A short interruption is no gap. A watch that has not
// resumed, or may not have resumed, at the end leaves a gap that is not bridged.
func TestAConnectionThatWasAwayIsABridgedGap(t *testing.T) {
	refused := func(n int) (all []any) {
		for range n {
			all = append(all, fmt.Errorf("connection refused"))
		}
		return all
	}
	for name, test := range map[string]struct {
		watches func() []any // a channel belongs to the synctest bubble in which it is made
		lasts   time.Duration
		want    []string // gaps: bridged or not, and when they were recorded
	}{
		"for ten seconds": {func() []any { return append(refused(40), open()) }, time.Minute, []string{"true 11s"}},
		"and then a change": {func() []any {
			return append(refused(40), played(watch.Event{Type: watch.Modified, Object: pod("a", "12")}), open())
		}, time.Minute, []string{"true 10s"}},
		"for half a second":         {func() []any { return append(refused(2), open()) }, time.Minute, nil},
		"until the end":             {func() []any { return refused(1000) }, time.Minute, []string{"false 1m0s"}},
		"until just before the end": {func() []any { return append(refused(40), open()) }, 10500 * time.Millisecond, []string{"false 10.5s"}},
		"for a moment at the end":   {func() []any { return append(refused(2), open()) }, 800 * time.Millisecond, nil},
		"and it breaks off again": {func() []any {
			return append(append(append(refused(40), played()), refused(40)...), open())
		}, time.Minute, []string{"true 21.25s"}},
		"and the server has forgotten": {func() []any { return append(refused(40), played(trouble(expired)), open()) }, time.Minute,
			[]string{"true 10s"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &notebook{began: time.Now()}
				s := &store{now: 10, states: map[int]map[string]int{10: {"a": 3}}}
				st := s.stream(sink)
				if err := st.list(t.Context()); err != nil {
					t.Fatal(err)
				}
				s.now, s.watches = 20, append([]any{played(watch.Event{Type: watch.Bookmark, Object: pod("", "11")})}, test.watches()...)
				ctx, cancel := context.WithTimeout(t.Context(), test.lasts)
				defer cancel()
				if err := st.follow(ctx); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, e := range sink.events {
					if e.Gap != nil {
						got = append(got, fmt.Sprintf("%t %s", e.Gap.Bridged, e.T))
					}
				}
				if fmt.Sprint(got) != fmt.Sprint(test.want) {
					t.Errorf("gaps %q, want %q", got, test.want)
				}
			})
		})
	}
}
