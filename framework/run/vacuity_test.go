package run

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
)

// lazyMachine says yes to all, and does nothing.
type lazyMachine struct {
	clusters.Node
	name string
}

func (m lazyMachine) Name() string                       { return m.name }
func (m lazyMachine) Zone() string                       { return "zone-of-" + m.name }
func (lazyMachine) Role() clusters.Role                  { return clusters.Worker }
func (lazyMachine) Kill(context.Context) error           { return nil }
func (lazyMachine) Stop(context.Context) error           { return nil }
func (lazyMachine) Pause(context.Context) error          { return nil }
func (lazyMachine) Resume(context.Context) error         { return nil }
func (lazyMachine) Start(context.Context) error          { return nil }
func (lazyMachine) Silent(context.Context) (bool, error) { return false, nil }
func (lazyMachine) State(context.Context) (clusters.NodeState, error) {
	return clusters.Running, nil
}
func (lazyMachine) Exec(_ context.Context, command ...string) ([]byte, error) {
	if command[3] == "knock" {
		return []byte("answered\n"), nil
	}
	if command[3] == "connect" {
		return []byte(strings.Repeat("0.001\n", 40)), nil
	}
	return []byte("kind: KubeletConfiguration\n"), nil
}

// lazyCluster has three of them, and upgrades them as they work.
type lazyCluster struct{ clusters.Cluster }

func (lazyCluster) Spec() clusters.Spec { return clusters.Spec{Kubernetes: "v1.36.3"} }
func (lazyCluster) Fetch(_ context.Context, to string) (clusters.Release, error) {
	return clusters.Release{Kubernetes: to}, nil
}
func (lazyCluster) UpgradeNode(context.Context, clusters.Node, clusters.Release) error { return nil }
func (lazyCluster) SwapKubelet(context.Context, clusters.Node, clusters.Release) error { return nil }
func (lazyCluster) Upgraded(context.Context, clusters.Release) error                   { return nil }

func (lazyCluster) Name() string { return "lazy" }
func (lazyCluster) Nodes() []clusters.Node {
	return []clusters.Node{lazyMachine{name: "w1"}, lazyMachine{name: "w2"}, lazyMachine{name: "w3"}}
}

// lazyTarget is a workload of six settled pods behind an API server that takes whatever it is asked for, and changes nothing.
func lazyTarget() fault.Target {
	labels, cpu := map[string]string{"app": "backend"}, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m")}
	spec := corev1.PodSpec{
		Containers: []corev1.Container{{Name: "server", Image: "backend:1", Args: []string{"serve"}, Resources: corev1.ResourceRequirements{Requests: cpu}}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
		}},
	}
	workload := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", ResourceVersion: "7"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(6)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
		Status: appsv1.DeploymentStatus{Replicas: 6, UpdatedReplicas: 6, AvailableReplicas: 6, ReadyReplicas: 6},
	}
	objects := []runtime.Object{workload}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
	for i := range 6 {
		name := fmt.Sprintf("backend-%d", i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"pod-template-hash": "5d"}}, Spec: spec}
		maps.Copy(pod.Labels, labels)
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "backend-5d", Controller: new(true)}}
		pod.Spec.NodeName = fmt.Sprintf("w%d", i%3+1)
		pod.Status = corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Resources: &corev1.ResourceRequirements{Requests: cpu}}},
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: &corev1.ObjectReference{Name: name},
		})
		objects = append(objects, pod)
	}
	for _, n := range (lazyCluster{}).Nodes() {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name()}, Status: corev1.NodeStatus{
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}})
	}
	client := fake.NewClientset(append(objects, slice)...)
	client.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "pods/eviction", Kind: "Eviction", Group: "policy", Version: "v1"}, // which kubectl looks for
	}}}
	takeAll(&client.Fake, func(a k8stesting.Action, name string) (runtime.Object, error) {
		return client.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
	})
	client.PrependReactor("get", "deployments", func(a k8stesting.Action) (bool, runtime.Object, error) {
		return a.GetSubresource() == "scale", &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 6}}, nil
	})
	untyped := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	takeAll(&untyped.Fake, func(a k8stesting.Action, name string) (runtime.Object, error) {
		return untyped.Tracker().Get(a.GetResource(), a.GetNamespace(), name)
	})
	return fault.Target{
		Cluster: lazyCluster{}, Client: client, Dynamic: untyped, Namespace: "ns", Workload: "backend", Rand: rand.New(rand.NewPCG(1, 2)),
	}
}

// takeAll has an API server answer all that would change something, and not do it.
func takeAll(api *k8stesting.Fake, get func(a k8stesting.Action, name string) (runtime.Object, error)) {
	api.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case k8stesting.UpdateAction: // and what is created
			return true, a.GetObject(), nil
		case k8stesting.PatchAction:
			o, err := get(a, a.GetName())
			return err == nil, o, err
		case k8stesting.DeleteAction:
			return true, nil, nil
		}
		return false, nil, nil
	})
}

// retold is a record in which all else is good, with the marks of a play at the moments that they would have.
func retold(events []history.Event) history.Run {
	b := ht.Healthy().DropEvents(func(e history.Event) bool { return e.Fault != nil })
	at := map[history.FaultStage]history.Offset{
		history.Injecting: 15500 * time.Millisecond, history.Seen: 18 * time.Second, history.Lasting: 29 * time.Second,
		history.Healing: 30 * time.Second, history.Healed: 31 * time.Second,
	}
	for _, e := range events {
		if e.Fault != nil {
			mark := *e.Fault
			if mark.Error == "" && mark.Stage == history.Seen {
				mark.Nodes, mark.Pods = []string{ht.DrainedNode}, []string{ht.Victim}
			}
			b.Fault(at[mark.Stage], mark)
		}
	}
	return b.Run()
}

// promised are kinds of promises that are held of a healthy record.
var promised = []invariant.Invariant{
	invariant.NoFailedRequests{}, invariant.FewFailedRequests{AtMost: 3}, invariant.AnswersWithin{}, invariant.FailuresEndWithin{}, invariant.BudgetHonoured{}, invariant.DrainCompletes{},
	invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}, invariant.RecoversWithin{Limit: 30 * time.Second}, invariant.QuietWithin{Limit: 3 * time.Second},
}

// playOn plays one fault to its end, and judges a record with what was written down of it.
func playOn(t *testing.T, f fault.Fault, target fault.Target) (events []history.Event, verdicts []verdict.Verdict, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		record := &notebook{began: time.Now()}
		p := &play{
			spec:   scenario.Spec{Steady: 5 * time.Second, Faults: []fault.Fault{f}, Hold: 10 * time.Second}.WithDefaults(),
			target: target, record: record, tell: func(history.PhaseName, string) {},
		}
		err = p.run(t.Context())
		events = record.events
	})
	return events, judge.CheckAll(retold(events), promised), err
}

// TestAnInjectorThatDoesNothingIsNeverHeld: every fault, played by the runner where all calls of the API and of the engine are
// granted and nothing happens.
func TestAnInjectorThatDoesNothingIsNeverHeld(t *testing.T) {
	for _, f := range slices.Concat(fault.Examples(), manifests.Examples()) {
		t.Run(f.String(), func(t *testing.T) {
			events, verdicts, err := playOn(t, f, lazyTarget())
			if err == nil {
				t.Error("the runner says nothing")
			}
			if slices.ContainsFunc(events, func(e history.Event) bool {
				return e.Fault != nil && e.Fault.Stage == history.Seen && e.Fault.Error == ""
			}) {
				t.Error("it was seen")
			}
			for _, v := range verdicts {
				if v.Outcome == verdict.Held {
					t.Errorf("%s is held: %s", v.Kind, v.Seen)
				}
			}
			t.Log(err)
		})
	}
}

// TestAFaultThatSomebodyElseUndidIsNeverHeld, and one that lasts is.
func TestAFaultThatSomebodyElseUndidIsNeverHeld(t *testing.T) {
	for name, test := range map[string]struct {
		still asking
		held  bool
	}{
		"it lasts": {lasts, true}, "nobody is there to be asked": {nil, true},
		"it is over": {over, false}, "nobody can look": {blinded, false}, "a bug": {mad, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, verdicts, err := playOn(t, staged{name: "A", still: test.still}, fault.Target{})
			if err != nil {
				t.Error(err)
			}
			for _, v := range verdicts {
				if (v.Outcome == verdict.Held) != test.held || v.Outcome == verdict.Violated {
					t.Errorf("%s is %s: %s %q", v.Kind, v.Outcome, v.Seen, v.Evidence)
				}
			}
		})
	}
}
