package observe

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// notebook is a sink in memory.
type notebook struct {
	mu     sync.Mutex
	began  time.Time
	events []history.Event
	full   error // what Append answers once set
}

func (n *notebook) Now() history.Offset { return time.Since(n.began) }

func (n *notebook) Append(e history.Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.full != nil {
		return n.full
	}
	n.events = append(n.events, e)
	return nil
}

// pods tells the pod events and gaps as short words, in order.
func (n *notebook) pods() (words []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		switch {
		case e.Pod != nil:
			words = append(words, string(e.Pod.Change)+" "+e.Pod.Name)
		case e.Gap != nil:
			words = append(words, "gap since "+e.Gap.Since.String())
		}
	}
	return words
}

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}}
}

// script is an API server for pods that plays one list and one watch after the other.
type script struct {
	lists   [][]*corev1.Pod
	watches []any // *watch.FakeWatcher or error
	asked   []string
}

func (s *script) stream(sink Sink) *stream {
	return &stream{
		what: "pods", sink: sink,
		event: func(o runtime.Object, c history.Change) history.Event { return podEvent(o.(*corev1.Pod), c) },
		lists: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
			for _, p := range s.lists[0] {
				list.Items = append(list.Items, *p)
			}
			s.lists = s.lists[1:]
			return list, nil
		},
		watch: func(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
			s.asked = append(s.asked, o.ResourceVersion)
			if len(s.watches) == 0 {
				return nil, errors.New("connection refused")
			}
			next := s.watches[0]
			s.watches = s.watches[1:]
			if err, ok := next.(error); ok {
				return nil, err
			}
			return next.(watch.Interface), nil
		},
	}
}

// played is a watch that has these events and is then closed.
func played(events ...watch.Event) *watch.FakeWatcher {
	w := watch.NewFakeWithChanSize(len(events), false)
	for _, e := range events {
		w.Action(e.Type, e.Object)
	}
	w.Stop()
	return w
}

func follow(t *testing.T, s *script, sink *notebook) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	st := s.stream(sink)
	if err := st.list(ctx, nil); err != nil {
		t.Fatal(err)
	}
	return st.follow(ctx)
}

func TestABrokenWatchIsTakenUpWhereItBroke(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &notebook{began: time.Now()}
		s := &script{
			lists: [][]*corev1.Pod{{pod("a", "9")}},
			watches: []any{
				played(watch.Event{Type: watch.Added, Object: pod("b", "11")},
					watch.Event{Type: watch.Bookmark, Object: pod("", "15")}),
				errors.New("connection refused"), errors.New("connection refused"),
				played(watch.Event{Type: watch.Deleted, Object: pod("a", "16")}),
			},
		}
		if err := follow(t, s, sink); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"listed a", "added b", "deleted a"}, sink.pods()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"10", "15", "15", "15", "16"}, s.asked[:5]); diff != "" {
			t.Errorf("asked to watch from (-want +got):\n%s", diff)
		}
	})
}

func TestWhatMayHaveBeenMissedIsAGap(t *testing.T) {
	gone := apierrors.NewResourceExpired("too old resource version")
	for name, end := range map[string]any{
		"refused at connect": gone,
		"told in the stream": played(watch.Event{Type: watch.Error, Object: &gone.ErrStatus}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sink := &notebook{began: time.Now()}
				s := &script{
					lists:   [][]*corev1.Pod{{pod("a", "9"), pod("b", "9")}, {pod("b", "20"), pod("c", "21")}},
					watches: []any{end},
				}
				if err := follow(t, s, sink); err != nil {
					t.Fatal(err)
				}
				want := []string{"listed a", "listed b", "gap since 0s", "listed b", "listed c", "deleted a"}
				if diff := cmp.Diff(want, sink.pods()); diff != "" {
					t.Errorf("events (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestAHistoryThatCannotBeWrittenEndsTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &notebook{began: time.Now()}
		s := &script{lists: [][]*corev1.Pod{nil}, watches: []any{played(watch.Event{Type: watch.Added, Object: pod("b", "11")})}}
		sink.full = errors.New("disk full")
		if err := follow(t, s, sink); !errors.Is(err, sink.full) {
			t.Errorf("got %v, want disk full", err)
		}
	})
}

func TestStartHoldsThePresentStateAndStopEndsIt(t *testing.T) {
	client := fake.NewClientset(
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{"zone": "a"}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "ns"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "elsewhere"}},
	)
	sink := &notebook{began: time.Now()}
	w, err := Start(t.Context(), client, "ns", sink)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"listed mine"}, sink.pods()); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	for range 2 {
		if err := w.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
	}
}

func TestPodEvent(t *testing.T) {
	now := metav1.Now()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns", UID: "u", DeletionTimestamp: &now},
		Spec:       corev1.PodSpec{NodeName: "w1"},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1",
			Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
				{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"},
				{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"},
			},
			ContainerStatuses: []corev1.ContainerStatus{{
				RestartCount: 2, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			}},
		},
	}
	want := &history.Pod{
		Change: history.Modified, Namespace: "ns", Name: "p", UID: "u", Node: "w1", IP: "10.0.0.1", Phase: "Running",
		Ready: true, Restarts: 2, Deleting: true, Disruption: "EvictionByEvictionAPI",
		Unschedulable: "0/3 nodes are available", Waiting: "CrashLoopBackOff",
	}
	if diff := cmp.Diff(want, podEvent(p, history.Modified).Pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

// answers is a transport that gives one answer to everything.
type answers struct {
	code int
	body string
}

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Request: r, Body: io.NopCloser(strings.NewReader(a.body)),
		Header: http.Header{"Content-Type": []string{"application/json"}},
	}, nil
}

func TestEvictionsAreRecordedFirstHand(t *testing.T) {
	refused := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429,
		"message":"Cannot evict pod as it would violate the pod's disruption budget.",
		"details":{"causes":[{"reason":"DisruptionBudget","message":"The disruption budget backend needs 5 healthy pods and has 5 currently"}]}}`
	for name, test := range map[string]struct {
		answer answers
		want   history.Eviction
	}{
		"accepted": {answers{201, `{"kind":"Status","status":"Success"}`}, history.Eviction{Namespace: "ns", Pod: "p", Accepted: true}},
		"refused": {answers{429, refused}, history.Eviction{
			Namespace: "ns", Pod: "p", Budget: "backend",
			Message: "The disruption budget backend needs 5 healthy pods and has 5 currently",
		}},
		"broken": {answers{500, "oops"}, history.Eviction{Namespace: "ns", Pod: "p", Message: "Internal Server Error"}},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &notebook{began: time.Now()}
			config := RecordEvictions(&rest.Config{Host: "http://127.0.0.1:1", Transport: test.answer}, sink)
			client := kubernetes.NewForConfigOrDie(config)
			err := client.CoreV1().Pods("ns").Delete(t.Context(), "p", metav1.DeleteOptions{}) // not an eviction
			_ = err
			err = client.RESTClient().Post().AbsPath("/api/v1/namespaces/ns/pods/p/eviction").Do(t.Context()).Error()
			if (err == nil) != test.want.Accepted {
				t.Errorf("the client got %v", err)
			}
			if len(sink.events) != 1 {
				t.Fatalf("%d events, want the eviction only", len(sink.events))
			}
			if diff := cmp.Diff(&test.want, sink.events[0].Eviction); diff != "" {
				t.Errorf("eviction (-want +got):\n%s", diff)
			}
		})
	}
}
