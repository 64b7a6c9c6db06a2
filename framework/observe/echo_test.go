package observe

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// echoes are the sending and the coming back of every call.
func echoes(n *notebook) (all [][2]history.Offset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.self {
		if e.Echo != nil {
			all = append(all, [2]history.Offset{e.Echo.Sent, e.T})
		}
	}
	return all
}

// The harness hears its own calls come back by the watch: at once here, and when an answer takes its time, later. The first
// makes the Lease, and only changes come back.
func TestEchoes(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration // to come through the API server
		want  [][2]history.Offset
	}{
		"at once": {0, [][2]history.Offset{{2 * time.Second, 2 * time.Second}, {3 * time.Second, 3 * time.Second}}},
		"late":    {200 * time.Millisecond, [][2]history.Offset{{2200 * time.Millisecond, 2400 * time.Millisecond}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				client.PrependReactor("patch", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
					time.Sleep(test.takes)
					return false, nil, nil
				})
				sink := &notebook{began: time.Now()}
				w, err := Start(t.Context(), client, "ns", sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(3500 * time.Millisecond)
				if err := w.Stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, echoes(sink)); diff != "" {
					t.Errorf("sent and heard (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An API server that takes no calls leaves silence, and no error: that it is away, the watches tell.
func TestCallsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("patch", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), client, "ns", sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := w.Stop(); err != nil || len(echoes(sink)) > 0 {
			t.Errorf("Stop: %v; echoes %v", err, echoes(sink))
		}
	})
}

// Leases of others, and what a list shows, are no echoes.
func TestNoEchoes(t *testing.T) {
	for name, lease := range map[string]*coordinationv1.Lease{
		"of another": {ObjectMeta: metav1.ObjectMeta{Name: "kube-scheduler", Annotations: map[string]string{sentAnnotation: "5"}}},
		"no moment":  {ObjectMeta: metav1.ObjectMeta{Name: echoLease}},
	} {
		if got := echoEvent(lease, history.Modified); got != (history.Event{}) {
			t.Errorf("%s: %+v", name, got.Echo)
		}
	}
	ours := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: echoLease, Annotations: map[string]string{sentAnnotation: "5"}}}
	if got := echoEvent(ours, history.Listed); got != (history.Event{}) {
		t.Errorf("a list: %+v", got.Echo)
	}
	if got := echoEvent(ours, history.Modified); got.Echo == nil || got.Echo.Sent != 5 {
		t.Errorf("an echo: %+v", got)
	}
}

// The harness's own noise is in the record, too, until the end.
func TestTheHarnessIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &notebook{began: time.Now()}
		w, err := Start(context.WithoutCancel(t.Context()), fake.NewClientset(), "ns", sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
		if err := w.Stop(); err != nil {
			t.Fatal(err)
		}
		var last history.Offset
		for _, e := range sink.self {
			if e.Noise != nil && (e.Noise.Of != history.NoiseHarness || e.Noise.Since != last) {
				t.Errorf("noise %+v after %s", e.Noise, last)
			}
			if e.Noise != nil {
				last = e.T
			}
		}
		if last != 2500*time.Millisecond {
			t.Errorf("it was listened until %s", last)
		}
	})
}
