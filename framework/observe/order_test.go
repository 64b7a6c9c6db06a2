package observe

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// TestAWatchThatLagsAloneIsSeen: Leases report their changes immediately, every second. The watch of pods reports one
// change, made at three seconds, late and another one in time. The echo alone does not show that.
func TestAWatchThatLagsAloneIsSeen(t *testing.T) {
	for name, test := range map[string]struct {
		late  time.Duration
		quiet bool // nothing else changes
		want  []history.Gap
	}{
		"at once":         {late: 0},
		"within a skew":   {late: 900 * time.Millisecond},
		"three seconds":   {late: 3 * time.Second, want: []history.Gap{{What: "pods", Since: 3 * time.Second, Bridged: true, Why: "it reported a change 2s after another watch had reported a later one"}}},
		"and all is calm": {late: 3 * time.Second, quiet: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				pods, leases := watch.NewFake(), watch.NewFake()
				client.PrependWatchReactor("pods", k8stesting.DefaultWatchReactor(pods, nil))
				client.PrependWatchReactor("leases", k8stesting.DefaultWatchReactor(leases, nil))
				client.PrependReactor("patch", "leases", func(k8stesting.Action) (bool, runtime.Object, error) {
					return true, &coordinationv1.Lease{}, nil
				})
				sink := &notebook{began: time.Now()}
				w, err := Start(t.Context(), client, scope, sink)
				if err != nil {
					t.Fatal(err)
				}
				version := 100
				for range 10 {
					if version++; !test.quiet {
						leases.Modify(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "other", ResourceVersion: fmt.Sprint(version)}})
					}
					if version == 104 { // after three seconds
						made := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1040"}}
						version = 1040
						go func() {
							time.Sleep(test.late)
							pods.Add(made)
						}()
					}
					time.Sleep(time.Second)
				}
				pods.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: fmt.Sprint(version + 1)}})
				synctest.Wait()
				if err := w.Stop(); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, gapsIn(sink)); diff != "" {
					t.Errorf("gaps (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestAWatchThatFellSilentIsSeen: the watch does not break but reports nothing. The list at the end shows what it missed.
func TestAWatchThatFellSilentIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		client.PrependWatchReactor("pods", k8stesting.DefaultWatchReactor(watch.NewFake(), nil))
		sink := &notebook{began: time.Now()}
		w, err := Start(t.Context(), client, scope, sink)
		if err != nil {
			t.Fatal(err)
		}
		if err := client.Tracker().Add(&corev1.Pod{ObjectMeta: named("untold")}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if err := w.Stop(); err != nil {
			t.Fatal(err)
		}
		want := []history.Gap{{What: "pods", Why: "a list at the end shows a change of untold, which the watch never reported"}}
		if diff := cmp.Diff(want, gapsIn(sink)); diff != "" {
			t.Errorf("gaps (-want +got):\n%s", diff)
		}
	})
}

func gapsIn(n *notebook) (gaps []history.Gap) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.events {
		if e.Gap != nil {
			gaps = append(gaps, *e.Gap)
		}
	}
	return gaps
}

// TestOrder: a change is late if another watch reported a later change before. Versions that do not parse are ignored.
func TestOrder(t *testing.T) {
	var o order
	for _, step := range []struct {
		version      string
		at           history.Offset
		since, later history.Offset
		overtaken    bool
	}{
		{"10", 1, 0, 0, false},
		{"12", 2, 0, 0, false},
		{"20", 3, 0, 0, false},
		{"11", 4, 1, 2, true},
		{"15", 5, 2, 3, true},
		{"20", 6, 0, 0, false},
		{"12", 7, 1, 3, true},
		{"9", 8, 0, 1, true},
		{"", 9, 0, 0, false},
		{"30", 10, 0, 0, false},
	} {
		if since, later, overtaken := o.report(step.version, step.at); since != step.since || later != step.later || overtaken != step.overtaken {
			t.Errorf("%s at %d: %d, %d, %t, want %+v", step.version, step.at, since, later, overtaken, step)
		}
	}
	if _, _, overtaken := (*order)(nil).report("1", 1); overtaken {
		t.Error("a nil order found a change overtaken")
	}
}
