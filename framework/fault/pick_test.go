package fault

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// TestFaultsThatWouldDoNothingAreErrors: nothing that was not disturbed may be said to have been.
func TestFaultsThatWouldDoNothingAreErrors(t *testing.T) {
	for _, s := range []struct {
		fault    Fault
		replicas int
		want     string
	}{
		{Scale{}, 6, "scale backend: no number of replicas is given"},
		{Scale{Through: []int{6}}, 6, "scale backend to 6: it has that many"},
		{Scale{Through: []int{6, 6}}, 6, "scale backend to 6: it has that many"},
		{Rollout{}, 0, "roll out backend: of 0 pods, 0 were replaced"},
		{PodDelete{}, 6, "delete 0 pods of backend: want at least one"},
		{PodDelete{Count: -1}, 6, "delete -1 pods of backend: want at least one"},
		{PodDelete{Count: 7}, 6, "delete 7 pods of backend: it has only 6"},
		{Evict{}, 0, "evict pods of backend: it has none"},
		{Drain{}, 0, "pick 1 workers with pods of backend: only 0 carry any"},
		{Drain{Nodes: 4}, 6, "pick 4 workers with pods of backend: only 3 carry any"},
		{TryDrain{}, 6, "try for 0s to drain a worker of backend: want a time"},
		{TryDrain{For: time.Second}, 0, `pick a worker for "try for 1s to drain 1 worker": no pod of backend is on one`},
		{TryDrain{For: time.Second, Unready: true}, 6,
			`pick a worker for "try for 1s to drain the worker of a pod that is not ready": no pod of backend is on one`},
		{BadRollout{}, 6, "roll out a bad version of backend: nothing is to be different"},
		{NodeKill{}, 0, "pick 1 workers with pods of backend: only 0 carry any"},
		{FillNode{}, 0, "pick 1 workers with pods of backend: only 0 carry any"},
		{FillNode{Worker: 5}, 6, "no worker 5: cluster fleet has 3 workers"},
		{ZoneOutage{}, 0, "pick 1 workers with pods of backend: only 0 carry any"},
		{NodeKill{Worker: 5}, 6, "no worker 5: cluster fleet has 3 workers"},
	} {
		w := newWorld(s.replicas, "w1", "w2", "w3")
		heal, err := inject(t.Context(), s.fault, w.target())
		if err == nil || err.Error() != s.want || len(w.seen) != 0 {
			t.Errorf("%s: got %v, seen %q\nwant %s", s.fault, err, w.seen, s.want)
		}
		if heal == nil {
			t.Errorf("%s: no heal", s.fault)
		} else if err := heal(t.Context()); err != nil {
			t.Errorf("%s: undo: %v", s.fault, err)
		}
	}
}

// TestEvictTellsAnswersThatDoNotAddUp: a pod whose eviction was accepted and that stays is a fault that did not bite.
func TestEvictTellsAnswersThatDoNotAddUp(t *testing.T) {
	w := newWorld(6, "w1")
	w.frozen, w.evictable = true, 2
	_, err := inject(t.Context(), Evict{}, w.target())
	if want := "evict pods of backend: 6 asked for, 4 refused, yet 0 are gone"; err == nil || err.Error() != want || len(w.seen) != 0 {
		t.Errorf("got %v, seen %q, want %s", err, w.seen, want)
	}
}

// TestEveryRefusalIsSeen: a budget that refuses all has done what it is for.
func TestEveryRefusalIsSeen(t *testing.T) {
	w := newWorld(3, "w1")
	w.evictable = 0
	if _, err := inject(t.Context(), Evict{}, w.target()); err != nil {
		t.Fatal(err)
	}
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], "nodes=[] pods=0 3 refused, 0 gone; 3 pods exist") {
		t.Errorf("seen %q", w.seen)
	}
}

// TestOnlyWorkersArePicked: neither the control plane nor the node that carries the load, whatever runs on them.
func TestOnlyWorkersArePicked(t *testing.T) {
	w := newWorld(12, "control-plane", "load", "w1", "w2")
	w.nodes[0].(*machine).role, w.nodes[1].(*machine).role = clusters.ControlPlane, clusters.LoadNode
	for seed := range uint64(50) {
		target := w.target()
		target.Rand = rand.New(rand.NewPCG(seed, 1))
		nodes, pods, err := target.victims(t.Context(), 1)
		if err != nil || len(pods) != 3 || nodes[0].Role() != clusters.Worker {
			t.Fatalf("seed %d: picked %v with %q: %v", seed, node.Names(nodes), pods, err)
		}
	}
	if _, _, err := w.target().victims(t.Context(), 3); err == nil || !strings.Contains(err.Error(), "only 2 carry any") {
		t.Errorf("three of two workers: %v", err)
	}
	node, pods, err := w.target().worker(t.Context(), 2)
	if err != nil || node.Name() != "w2" || len(pods) != 3 {
		t.Errorf("the second worker is %v with %q: %v", node, pods, err)
	}
}

// TestEveryVictimIsPickedByAndBy, and each seed picks its own again.
func TestEveryVictimIsPickedByAndBy(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	seen := make(map[string]bool)
	for seed := range uint64(50) {
		var picked [2][]string
		for i := range picked {
			target := w.target()
			target.Rand = rand.New(rand.NewPCG(seed, 1))
			nodes, _, err := target.victims(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			picked[i] = node.Names(nodes)
		}
		if !slices.Equal(picked[0], picked[1]) {
			t.Errorf("seed %d: %q, then %q", seed, picked[0], picked[1])
		}
		seen[picked[0][0]] = true
	}
	if len(seen) != 3 {
		t.Errorf("50 seeds picked %v only", seen)
	}
}

// TestAWorkerWithoutPodsCanBeKilled by its number, as an entry node is.
func TestAWorkerWithoutPodsCanBeKilled(t *testing.T) {
	w := newWorld(1, "w1", "w2")
	empty := "w1"
	if pods, _ := w.target().pods(t.Context()); pods["pod-001"].Spec.NodeName == "w1" {
		empty = "w2"
	}
	n := map[string]int{"w1": 1, "w2": 2}[empty]
	if _, err := inject(t.Context(), NodeKill{Worker: n}, w.target()); err != nil {
		t.Fatal(err)
	}
	if want := "nodes=[" + empty + "] pods=0 "; len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
		t.Errorf("seen %q, want %q", w.seen, want)
	}
}

// TestGone: another pod of the same name is another pod.
func TestGone(t *testing.T) {
	pod := func(uid types.UID) corev1.Pod { return corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}} }
	before := map[string]corev1.Pod{"db-2": pod("3"), "db-0": pod("1"), "db-1": pod("2")}
	after := map[string]corev1.Pod{"db-0": pod("1"), "db-1": pod("9"), "db-9": pod("4")}
	if got, want := gone(before, after), []string{"db-1", "db-2"}; !slices.Equal(got, want) {
		t.Errorf("gone are %q, want %q", got, want)
	}
}

// TestEndpoints: those that clients are sent to, of the workload's own Service, in any number of slices.
func TestEndpoints(t *testing.T) {
	w := newWorld(1, "w1")
	yes, no := true, false
	ref := func(name string) *corev1.ObjectReference { return &corev1.ObjectReference{Name: name} }
	slice := func(name, service string, endpoints ...discoveryv1.Endpoint) {
		_ = w.client.Tracker().Add(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
			Endpoints:  endpoints,
		})
	}
	slice("backend-2", "backend",
		discoveryv1.Endpoint{TargetRef: ref("a-ready"), Conditions: discoveryv1.EndpointConditions{Ready: &yes}},
		discoveryv1.Endpoint{TargetRef: ref("not-ready"), Conditions: discoveryv1.EndpointConditions{Ready: &no}},
		discoveryv1.Endpoint{TargetRef: ref("unknown")},
		discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: &yes}})
	slice("gateway-1", "gateway", discoveryv1.Endpoint{TargetRef: ref("gateway"), Conditions: discoveryv1.EndpointConditions{Ready: &yes}})
	offered, err := w.target().offered(t.Context())
	var got []string
	for _, pod := range offered {
		got = append(got, pod.Name)
	}
	if want := []string{"pod-001", "a-ready"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestRolloutsPatch: a new annotation for each, and the one that was there, or none, after the undo.
func TestRolloutsPatch(t *testing.T) {
	for name, s := range map[string]struct {
		annotations map[string]string
		restore     string
	}{
		"none before":    {nil, `null`},
		"one before":     {map[string]string{rolloutAnnotation: "after 3"}, `"after 3"`},
		"an odd one":     {map[string]string{rolloutAnnotation: "a \"b\"\n<c> \u00e4\x01"}, `"a \"b\"\n\u003cc\u003e ä\u0001"`},
		"another's only": {map[string]string{"kubectl.kubernetes.io/restartedAt": "now"}, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, "w1")
			d := w.deployment()
			d.Spec.Template.Annotations = s.annotations
			d.ResourceVersion = "7"
			_ = w.client.Tracker().Update(deployments, d, "ns")
			heal, err := inject(t.Context(), Rollout{}, w.target())
			if err != nil {
				t.Fatal(err)
			}
			if err := heal(t.Context()); err != nil {
				t.Fatal(err)
			}
			const before = `{"spec":{"template":{"metadata":{"annotations":{"holdfast.dev/rollout":`
			want := []string{before + `"after 7"}}}}}`, before + s.restore + `}}}}}`}
			if !slices.Equal(w.patches, want) {
				t.Errorf("patched\n %q\nwant\n %q", w.patches, want)
			}
		})
	}
}

// TestScaleGoesStepByStep: each step settled before the next, and back to what there was.
func TestScaleGoesStepByStep(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	heal, err := inject(t.Context(), Scale{Through: []int{9, 0, 3}}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []int{9, 0, 3, 6}; !slices.Equal(w.scales, want) {
		t.Errorf("scaled to %v, want %v", w.scales, want)
	}
}

// TestScaleIsNotRefusedForAnOlderVersion: the controller wrote the workload's status between the reading of its scale and the writing, as
// happened once in a full profile.
func TestScaleIsNotRefusedForAnOlderVersion(t *testing.T) {
	w := newWorld(6, "w1", "w2")
	refused := 0
	w.client.PrependReactor("update", "deployments", func(k8stesting.Action) (bool, runtime.Object, error) {
		if refused++; refused > 2 {
			return false, nil, nil
		}
		return true, nil, apierrors.NewConflict(schema.GroupResource{Group: "apps", Resource: "deployments"}, "backend", errors.New("the object has been modified"))
	})
	if _, err := inject(t.Context(), Scale{Through: []int{9}}, w.target()); err != nil || !slices.Equal(w.scales, []int{9}) {
		t.Errorf("scaled to %v: %v", w.scales, err)
	}
}
