package fault

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// world is a fake cluster in which controllers act at once: it proves what a fault asks for and what it waits for.
// That the real ones behave is proven on real clusters.
type world struct {
	client *fake.Clientset
	nodes  []clusters.Node
	seen   []string
	healed []string

	mu        sync.Mutex
	made      int
	frozen    bool // controllers do nothing: no disturbance ever shows
	evictable int  // how many evictions the budget still grants
}

func newWorld(replicas int, workers ...string) *world {
	w := &world{evictable: 1000}
	labels := map[string]string{"app": "backend"}
	n := int32(replicas)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", ResourceVersion: "7"},
		Spec:       appsv1.DeploymentSpec{Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: labels}},
	}
	w.client = fake.NewClientset(d)
	for _, name := range workers {
		w.nodes = append(w.nodes, &machine{name: name, state: clusters.Running})
		_ = w.client.Tracker().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.client.PrependReactor("update", "deployments", w.scaled)
	w.client.PrependReactor("get", "deployments", w.scaleOf)
	w.client.PrependReactor("patch", "deployments", w.rolled)
	w.client.PrependReactor("list", "pods", w.onNode)
	w.client.PrependReactor("delete", "pods", w.deleted)
	w.client.PrependReactor("create", "pods", w.evicted)
	w.reconcile(nil)
	return w
}

func (w *world) target() Target {
	return Target{
		Cluster: fleet{nodes: w.nodes}, Client: w.client, Namespace: "ns", Workload: "backend",
		Rand: rand.New(rand.NewPCG(1, 2)), Record: w,
	}
}

func (w *world) Seen(nodes, pods []string, witness string) {
	w.seen = append(w.seen, fmt.Sprintf("nodes=%v pods=%d %s", nodes, len(pods), witness))
}
func (w *world) Healed(witness string) { w.healed = append(w.healed, witness) }

func (w *world) deployment() *appsv1.Deployment {
	o, err := w.client.Tracker().Get(appsv1.SchemeGroupVersion.WithResource("deployments"), "ns", "backend")
	if err != nil {
		panic(err)
	}
	return o.(*appsv1.Deployment).DeepCopy()
}

func (w *world) podNames() []string {
	list, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	if err != nil {
		panic(err)
	}
	var names []string
	for _, p := range list.(*corev1.PodList).Items {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	return names
}

// reconcile is every controller in one: it removes the pods named, makes as many as are wanted on schedulable nodes,
// and brings status and endpoints up to date.
func (w *world) reconcile(remove []string) {
	if w.frozen {
		return
	}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for _, name := range remove {
		_ = w.client.Tracker().Delete(pods, "ns", name)
	}
	d := w.deployment()
	for len(w.podNames()) > int(*d.Spec.Replicas) {
		_ = w.client.Tracker().Delete(pods, "ns", w.podNames()[0])
	}
	for len(w.podNames()) < int(*d.Spec.Replicas) {
		w.made++
		_ = w.client.Tracker().Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%03d", w.made), Namespace: "ns", UID: types.UID(fmt.Sprint(w.made)),
				Labels: map[string]string{"app": "backend"},
			},
			Spec: corev1.PodSpec{NodeName: w.place()},
		})
	}
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{UpdatedReplicas: n, AvailableReplicas: n, Replicas: n, ReadyReplicas: n}
	_ = w.client.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, "ns")
	w.publish()
}

// place picks a schedulable node in turn.
func (w *world) place() string {
	var open []string
	for _, n := range w.nodes {
		o, err := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", n.Name())
		if err == nil && !o.(*corev1.Node).Spec.Unschedulable {
			open = append(open, n.Name())
		}
	}
	if len(open) == 0 {
		return ""
	}
	return open[w.made%len(open)]
}

func (w *world) publish() {
	yes := true
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
	for _, name := range w.podNames() {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Conditions: discoveryv1.EndpointConditions{Ready: &yes}, TargetRef: &corev1.ObjectReference{Name: name},
		})
	}
	slices := discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	if w.client.Tracker().Update(slices, s, "ns") != nil {
		_ = w.client.Tracker().Add(s)
	}
}

func (w *world) scaleOf(a k8stesting.Action) (bool, runtime.Object, error) {
	if a.GetSubresource() != "scale" {
		return false, nil, nil
	}
	return true, &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: *w.deployment().Spec.Replicas}}, nil
}

func (w *world) scaled(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	scale, ok := a.(k8stesting.UpdateAction).GetObject().(*autoscalingv1.Scale)
	if !ok {
		return false, nil, nil
	}
	d := w.deployment()
	d.Spec.Replicas = &scale.Spec.Replicas
	_ = w.client.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, "ns")
	w.reconcile(nil)
	return true, scale, nil
}

func (w *world) rolled(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !strings.Contains(string(a.(k8stesting.PatchAction).GetPatch()), rolloutAnnotation) {
		return true, nil, errors.New("a patch that is no rollout")
	}
	w.reconcile(w.podNames())
	return true, w.deployment(), nil
}

func (w *world) deleted(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reconcile([]string{a.(k8stesting.DeleteAction).GetName()})
	return true, nil, nil
}

// onNode answers what the tracker cannot: which pods are on a node. kubectl's drain asks so.
func (w *world) onNode(a k8stesting.Action) (bool, runtime.Object, error) {
	node, found := a.(k8stesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("spec.nodeName")
	if !found {
		return false, nil, nil
	}
	all, err := w.client.Tracker().List(corev1.SchemeGroupVersion.WithResource("pods"),
		corev1.SchemeGroupVersion.WithKind("Pod"), "ns")
	list := all.(*corev1.PodList).DeepCopy()
	list.Items = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Spec.NodeName != node })
	return true, list, err
}

func (w *world) evicted(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.GetSubresource() != "eviction" {
		return false, nil, nil
	}
	if w.evictable == 0 {
		return true, nil, apierrors.NewTooManyRequests("the budget forbids it", 0)
	}
	w.evictable--
	w.reconcile([]string{a.(k8stesting.CreateAction).GetObject().(*policyv1.Eviction).Name})
	return true, nil, nil
}

// fleet is a cluster of machines; what it does not need panics.
type fleet struct {
	clusters.Cluster
	nodes []clusters.Node
}

func (f fleet) Name() string           { return "fleet" }
func (f fleet) Nodes() []clusters.Node { return f.nodes }

type machine struct {
	clusters.Node
	name     string
	state    clusters.NodeState
	immortal bool // Kill says yes and does nothing
}

func (m *machine) Name() string        { return m.name }
func (m *machine) Role() clusters.Role { return clusters.Worker }
func (m *machine) Kill(context.Context) error {
	if !m.immortal {
		m.state = clusters.Exited
	}
	return nil
}
func (m *machine) Start(context.Context) error { m.state = clusters.Running; return nil }
func (m *machine) State(context.Context) (clusters.NodeState, error) {
	return m.state, nil
}
func (m *machine) Silent(context.Context) (bool, error) { return m.state != clusters.Running, nil }

func TestFaultsBiteAreSeenAndAreUndone(t *testing.T) {
	for name, test := range map[string]struct {
		fault  Fault
		seen   string // what the witness says
		healed string
	}{
		"scale 9, 3": {
			fault:  Scale{Through: []int{9, 3}},
			seen:   "nodes=[] pods=6 3 pods exist, 3 of the newest revision, 3 available, 3 ready endpoints, 3 wanted",
			healed: "6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"rolling update": {
			fault:  Rollout{},
			seen:   "nodes=[] pods=6 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
			healed: "rolled back: 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"delete 2 pods": {
			fault:  PodDelete{Count: 2},
			seen:   "nodes=[] pods=2 2 pods no longer there, and no endpoint of the Service",
			healed: "6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"kill one worker": {
			fault:  NodeKill{},
			seen:   "nodes=[w2] pods=2 the engine says w2 has exited, and its kubelet port is silent",
			healed: "w2 is Ready and reaches a Service; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
		"kill worker 3": {
			fault:  NodeKill{Worker: 3},
			seen:   "nodes=[w3] pods=2 the engine says w3 has exited, and its kubelet port is silent",
			healed: "w3 is Ready and reaches a Service; 6 pods exist, 6 of the newest revision, 6 available, 6 ready endpoints, 6 wanted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(6, "w1", "w2", "w3")
			heal, err := test.fault.Inject(t.Context(), w.target())
			if err != nil {
				t.Fatal(err)
			}
			if len(w.seen) != 1 || w.seen[0] != test.seen {
				t.Errorf("seen\n got %q\nwant %q", w.seen, test.seen)
			}
			for range 2 { // the second call must do nothing
				if err := heal(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if len(w.healed) != 1 || w.healed[0] != test.healed {
				t.Errorf("healed\n got %q\nwant %q", w.healed, test.healed)
			}
			if got := len(w.podNames()); got != 6 {
				t.Errorf("%d pods after the undo, want 6", got)
			}
		})
	}
}

func TestEvictReportsWhatTheBudgetRefused(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	w.evictable = 1
	if _, err := (Evict{}).Inject(t.Context(), w.target()); err != nil {
		t.Fatal(err)
	}
	want := "nodes=[] pods=1 5 refused, 1 gone; 6 pods exist"
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
		t.Errorf("seen %q, want %q...", w.seen, want)
	}
}

func TestDrainEmptiesItsNodesAndUncordonsThem(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	w.client.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"},
	}}}
	heal, err := Drain{Nodes: 2}.Inject(t.Context(), w.target())
	if err != nil {
		t.Fatal(err)
	}
	const want = "nodes=[w2 w1] pods=4 no pod left on w2, w1; 6 pods exist, 6 of the newest revision"
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], want) {
		t.Errorf("seen\n got %q\nwant %q...", w.seen, want)
	}
	if got := w.cordoned(); !slices.Equal(got, []string{"w1", "w2"}) {
		t.Errorf("cordoned %v, want w1 and w2", got)
	}
	if err := heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.cordoned(); got != nil {
		t.Errorf("cordoned after the undo: %v", got)
	}
}

func (w *world) cordoned() (names []string) {
	for _, n := range w.nodes {
		o, _ := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("nodes"), "", n.Name())
		if o.(*corev1.Node).Spec.Unschedulable {
			names = append(names, n.Name())
		}
	}
	return names
}

// An injector whose API calls all succeed, while nothing happens, must end in an error and never in Seen.
func TestAFaultThatDoesNotBiteIsAnError(t *testing.T) {
	for _, f := range []Fault{Scale{Through: []int{9}}, Rollout{}, PodDelete{Count: 1}, NodeKill{}} {
		t.Run(f.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				w.frozen = true
				for _, n := range w.nodes {
					n.(*machine).immortal = true
				}
				w.unsettle()
				heal, err := f.Inject(t.Context(), w.target())
				if err == nil || len(w.seen) != 0 {
					t.Errorf("Inject: %v, seen %q: want an error and nothing seen", err, w.seen)
				}
				if heal == nil {
					t.Error("no heal: what is half done could not be undone")
				}
			})
		})
	}
}

// unsettle makes the status say that the controller has not caught up, as it is between a request and its effect.
func (w *world) unsettle() {
	d := w.deployment()
	d.Status.UpdatedReplicas = 0
	_ = w.client.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("deployments"), d, "ns")
}

func TestVictimsAreRepeatable(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3", "w4")
	first, pods, err := w.target().victims(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	again, _, _ := w.target().victims(t.Context(), 2)
	if !slices.Equal(names(first), names(again)) {
		t.Errorf("victims %v, then %v with the same seed", names(first), names(again))
	}
	if len(pods) == 0 {
		t.Error("no pods on the victims")
	}
	if _, _, err := w.target().victims(t.Context(), 5); err == nil {
		t.Error("five victims of four workers: want an error")
	}
}

func TestFaultsOfAMissingWorkloadNameIt(t *testing.T) {
	w := newWorld(6, "w1")
	target := w.target()
	target.Workload = "frontend"
	for _, f := range []Fault{Scale{Through: []int{1}}, Rollout{}, PodDelete{Count: 1}, Drain{}, Evict{}, NodeKill{}} {
		_, err := f.Inject(t.Context(), target)
		if err == nil || !strings.Contains(err.Error(), "ns/frontend") || !apierrors.IsNotFound(errors.Unwrap(err)) {
			t.Errorf("%s: %v, want a NotFound that names ns/frontend", f, err)
		}
	}
}

func TestStrings(t *testing.T) {
	for want, f := range map[string]Fault{
		"scale to 9, 3": Scale{Through: []int{9, 3}}, "rolling update": Rollout{}, "drain 1 worker": Drain{},
		"drain 2 workers": Drain{Nodes: 2}, "kill one worker": NodeKill{}, "kill worker 2": NodeKill{Worker: 2},
		"delete 1 pod": PodDelete{Count: 1}, "ask to evict every pod": Evict{},
	} {
		if f.String() != want {
			t.Errorf("got %q, want %q", f, want)
		}
	}
}
