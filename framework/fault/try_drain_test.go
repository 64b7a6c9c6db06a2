package fault

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	k8stesting "k8s.io/client-go/testing"
)

// protect adds a budget with a status; app is whom it is for.
func (w *world) protect(name, app string, allowed int32) {
	_ = w.client.Tracker().Add(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DesiredHealthy: 6, CurrentHealthy: 6, DisruptionsAllowed: allowed},
	})
}

// either of the two pods on w3 is evicted first.
var either = regexp.MustCompile(`\bpod-00[25] still`)

// TestATriedDrain is seen when it got through, and when a budget kept it from that for the whole time. What is neither,
// such as pods that stay for no reason, was not seen.
func TestATriedDrain(t *testing.T) {
	const span = 15 * time.Second
	for _, test := range []struct {
		name       string
		world      func(*world)
		seen, want string // want: in the error
		took       time.Duration
	}{
		{"nothing blocks it", func(*world) {}, "nodes=[w3] pods=2 no pod left on w3 after 0s", "", 0},
		{"a budget blocks it", func(w *world) {
			w.evictable = 0
			w.protect("backend", "backend", 0)
			w.protect("lenient", "backend", 1)
			w.protect("other", "other", 0)
		}, "nodes=[w3] pods=0 after 15s, pod-002, one still on w3, 2 ready: budget backend needs 6 healthy pods and has 6", "", span},
		{"a budget lets one pod pass", func(w *world) {
			w.evictable = 1
			w.protect("backend", "backend", 0)
		}, "nodes=[w3] pods=1 after 15s, one still on w3, 1 ready: budget backend needs 6 healthy pods and has 6", "", span},
		{"refused, and no budget says so", func(w *world) { w.evictable = 0 },
			"", "drain w3: given up after 15s, and no budget holds on to pod-002, pod-005", span},
		{"pods that take longer to go", func(w *world) {
			w.lag = time.Minute
			w.protect("backend", "backend", 0)
		}, "", "drain w3: given up after 15s, and its pods were still going", span},
		{"a drained node that takes pods", func(w *world) { w.stubborn = true }, "", "drain w3: pod pod-008 is still on it", 0},
		{"an API server that forbids it", func(w *world) { w.fail("create", "pods", 1, 2) },
			"", "drain w3: [error when evicting pods", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				test.world(w)
				began := time.Now()
				heal, err := inject(t.Context(), TryDrain{For: span}, w.target())
				if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.HasPrefix(err.Error(), test.want)) {
					t.Errorf("error %v, want %q", err, test.want)
				}
				got := either.ReplaceAllString(strings.Join(w.seen, "; "), "one still")
				if got != test.seen {
					t.Errorf("seen\n got %q\nwant %q", got, test.seen)
				}
				if took := time.Since(began); took < test.took || took > test.took+2*evictRetry {
					t.Errorf("it took %s, want %s", took, test.took)
				}
				if w.cordoned() == nil {
					t.Error("nothing is cordoned before the undo")
				}
				if err := heal(t.Context()); err != nil || w.cordoned() != nil || len(w.healed) != 1 {
					t.Errorf("undo: %v, cordoned %q, healed %q", err, w.cordoned(), w.healed)
				}
			})
		})
	}
}

// TestTheWorkerOfAnUnreadyPodIsTried: of one that runs, for no budget protects what was never started. What is amiss
// before is so afterwards: the undo does not wait for it.
func TestTheWorkerOfAnUnreadyPodIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		pods := corev1.SchemeGroupVersion.WithResource("pods")
		for name, phase := range map[string]corev1.PodPhase{"pod-002": corev1.PodRunning, "pod-003": corev1.PodPending} {
			o, err := w.client.Tracker().Get(pods, "ns", name)
			if err != nil {
				t.Fatal(err)
			}
			p := o.(*corev1.Pod).DeepCopy()
			p.Status.Phase, p.Status.Conditions = phase, nil
			_ = w.client.Tracker().Update(pods, p, "ns")
		}
		w.unsettle()
		w.evictable, w.stale = 0, true
		w.protect("backend", "backend", 0)
		began := time.Now()
		heal, err := inject(t.Context(), TryDrain{For: time.Second, Unready: true}, w.target())
		if err != nil {
			t.Fatal(err)
		}
		const want = "nodes=[w3] pods=0 after 1s, pod-002, pod-005 still on w3, 1 ready: budget backend needs"
		if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
			t.Errorf("seen %q, want %q...", w.seen, want)
		}
		if err := heal(t.Context()); err != nil || len(w.healed) != 1 || w.healed[0] != "uncordoned w3, and its taint is gone" {
			t.Errorf("undo: %v, healed %q", err, w.healed)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// TestANodeTakesPodsWhenItsTaintIsGone: the scheduler goes by it, and another controller takes it away.
func TestANodeTakesPodsWhenItsTaintIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		heal, err := inject(t.Context(), TryDrain{For: 9 * time.Second}, w.target())
		if err != nil {
			t.Fatal(err)
		}
		left := 0 // the first look is the uncordon's
		w.client.PrependReactor("get", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) {
			if left++; left > 1000 || left < 3 {
				return false, nil, nil
			}
			return true, &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeUnschedulable}}}}, nil
		})
		err = heal(t.Context())
		const want = "waited 30s for node w3 to take pods: last seen unschedulable false, taint true ("
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(w.healed) != 0 {
			t.Errorf("got %v, healed %q, want %s", err, w.healed, want)
		}
	})
}
