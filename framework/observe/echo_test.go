package observe

import (
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

// echoes are the times at which each call was sent and came back.
func echoes(n *notebook) (all [][2]history.Offset) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.self {
		if e.Echo != nil && e.Echo.Error == "" {
			all = append(all, [2]history.Offset{e.Echo.Sent, e.T})
		}
	}
	return all
}

// The watch reports the harness's own calls: here immediately, and later if the API server is slow. The first call creates
// the Lease, and only modifications count.
func TestEchoes(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration // how long the API server takes for a call
		want  [][2]history.Offset
	}{
		"at once": {0, [][2]history.Offset{{2 * time.Second, 2 * time.Second}, {3 * time.Second, 3 * time.Second}}},
		"late": {200 * time.Millisecond, [][2]history.Offset{
			{2200 * time.Millisecond, 2400 * time.Millisecond}, {3400 * time.Millisecond, 3600 * time.Millisecond}, // in flight when Stop was called
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				client.PrependReactor("patch", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
					time.Sleep(test.takes)
					return false, nil, nil
				})
				sink := &notebook{began: time.Now()}
				w, err := Start(t.Context(), client, scope, sink)
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
				for _, e := range sink.self { // an API server whose store is away accepts a change late, which is not a delay of a watch
					if e.Echo != nil && e.Echo.Taken != max(1, test.takes) {
						t.Errorf("at %s: %+v", e.T, e.Echo)
					}
				}
			})
		})
	}
}

// If the API server rejects the calls, their errors are recorded and Stop returns no error. An outage is the watches' to
// report.
func TestCallsThatFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependReactor("patch", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, errors.New("connection refused")
		})
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), client, scope, sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Second)
		if err := w.Stop(); err != nil || len(echoes(sink)) > 0 {
			t.Errorf("Stop: %v; echoes %v", err, echoes(sink))
		}
		var failed []history.Echo
		for _, e := range sink.self {
			if e.Echo != nil {
				failed = append(failed, *e.Echo)
			}
		}
		if len(failed) < 4 || failed[0].Error != "connection refused" || failed[0].Sent != time.Second {
			t.Errorf("written down: %+v", failed)
		}
	})
}

// Changes of other Leases, and listed objects, are not echoes.
func TestNoEchoes(t *testing.T) {
	received := func(change history.Change, name, sent string) history.Event {
		c := newEchoCaller(nil, &notebook{})
		c.answered(5, 3)
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{sentAnnotation: sent}}}
		return c.received(lease, change)
	}
	for name, got := range map[string]history.Event{
		"of another":   received(history.Modified, "kube-scheduler", "5"),
		"no moment":    received(history.Modified, echoLease, ""),
		"a list":       received(history.Listed, echoLease, "5"),
		"not answered": received(history.Modified, echoLease, "6"),
	} {
		if got != (history.Event{}) {
			t.Errorf("%s: %+v", name, got.Echo)
		}
	}
	if got := received(history.Modified, echoLease, "5"); got.Echo == nil || *got.Echo != (history.Echo{Sent: 5, Taken: 3}) {
		t.Errorf("an echo: %+v", got)
	}
}
