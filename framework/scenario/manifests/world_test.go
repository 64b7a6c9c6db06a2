package manifests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const zonePolicy = "critical-workloads-need-a-zone-constraint.holdfast.dev"

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

// world is a fake cluster with a settled Deployment of six pods, an API server that follows admission policies, and a recorder.
type world struct {
	client  *fake.Clientset
	dynamic *dynamicfake.FakeDynamicClient

	mu       sync.Mutex
	deaf     bool          // it accepts every change and stores none
	lag      time.Duration // it follows a change of policies so much later
	policies map[string]*unstructured.Unstructured
	changes  int              // of policies
	noticed  int              // the last of them that it follows
	inForce  bool             // it follows the policy
	told     map[string]error // fixed answers, by the manifest's name

	audits       [][]string // the findings of each audit
	tried        []history.Admission
	seen, healed []string
	lasting      func(context.Context) (active bool, saw string, err error) // nil: no witness can be asked
}

func newWorld() *world {
	w := &world{policies: map[string]*unstructured.Unstructured{}}
	app := map[string]string{"app": "backend"}
	container := corev1.Container{Name: "server", Image: "backend:1"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "backend", Namespace: "ns", ResourceVersion: "7"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(6)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: app}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{container},
				TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector: &metav1.LabelSelector{MatchLabels: app}, MinDomains: new(int32(2)),
				}},
			}},
		},
		Status: appsv1.DeploymentStatus{Replicas: 6, UpdatedReplicas: 6, AvailableReplicas: 6, ReadyReplicas: 6},
	}
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
		Name: "backend-1", Namespace: "ns", Labels: map[string]string{discoveryv1.LabelServiceName: "backend"},
	}}
	objects := []runtime.Object{d, slice}
	for i := range 6 {
		name := fmt.Sprintf("pod-%03d", i+1)
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "ns", UID: types.UID(name), Labels: map[string]string{"app": "backend", "pod-template-hash": "5d"},
				OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "backend-5d", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: fmt.Sprintf("w%d", i%3+1), Containers: []corev1.Container{container}},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue},
			}},
		})
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, TargetRef: &corev1.ObjectReference{Name: name},
		})
	}
	for _, name := range []string{"w1", "w2", "w3"} {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	w.client = fake.NewClientset(objects...)
	w.client.PrependReactor("create", "deployments", w.asked)
	w.client.PrependReactor("create", "statefulsets", w.asked)
	w.dynamic = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	for _, kind := range []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"} {
		resource, _ := audit.ResourceOf(kind)
		w.dynamic.PrependReactor("*", resource.Resource, func(a k8stesting.Action) (bool, runtime.Object, error) { return w.policed(kind, a) })
	}
	return w
}

func (w *world) target() fault.Target {
	return fault.Target{Client: w.client, Dynamic: w.dynamic, Namespace: "ns", Workload: "backend", Record: w}
}

// inject plans and applies an action in a world, and returns its revert.
func inject(ctx context.Context, action fault.Fault, target fault.Target) (revert func(context.Context) error, err error) {
	w := target.Record.(*world)
	in, err := fault.Plan(ctx, action, target)
	if err == nil {
		err = in.Apply(ctx, func(o fault.Observation) {
			w.seen = append(w.seen, fmt.Sprintf("nodes=%v pods=%d %s", o.Nodes, len(o.Pods), o.Witness))
		})
	}
	w.lasting = nil
	if in.Askable() {
		w.lasting = in.Active
	}
	return func(ctx context.Context) error {
		return in.Revert(ctx, func(witness string) { w.healed = append(w.healed, witness) })
	}, err
}

// Note implements fault.Recorder.
func (w *world) Note(e history.Event) {
	if e.Admission != nil {
		w.tried = append(w.tried, *e.Admission)
	}
	if e.Audit != nil {
		var rules []string
		for _, f := range e.Audit.Findings {
			rules = append(rules, f.Rule)
		}
		w.audits = append(w.audits, rules)
	}
}

// Step implements fault.Recorder. No action has steps.
func (w *world) Step(_ history.Step, do func() error) error { return do() }

func (w *world) deployment() *appsv1.Deployment {
	o, err := w.client.Tracker().Get(deployments, "ns", "backend")
	if err != nil {
		panic(err)
	}
	return o.(*appsv1.Deployment).DeepCopy()
}

var errAway = errors.New("the API server is away")

// fail makes the requests of a kind fail, from the first to the last, counted from 1.
func (w *world) fail(verb, resource string, first, last int) {
	n := 0
	w.client.PrependReactor(verb, resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		n++
		return n >= first && n <= last, nil, errAway
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// policed stores admission policies. The API server follows a change later, when its watch reports it.
func (w *world) policed(kind string, a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch a := a.(type) {
	case k8stesting.CreateAction:
		o := a.GetObject().(*unstructured.Unstructured)
		if w.policies[kind] != nil {
			return true, nil, apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
		}
		if !w.deaf {
			w.policies[kind] = o
		}
		w.notice()
		return true, o, nil
	case k8stesting.DeleteAction:
		if w.policies[kind] == nil {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{}, a.GetName())
		}
		if !w.deaf {
			delete(w.policies, kind)
		}
		w.notice()
		return true, nil, nil
	case k8stesting.GetAction:
		if w.policies[kind] == nil {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{}, a.GetName())
		}
		return true, w.policies[kind].DeepCopy(), nil
	}
	return true, nil, errors.New("unexpected request")
}

// notice makes the API server follow the stored policies, at once or after the lag. The caller holds the lock.
func (w *world) notice() {
	w.changes++
	nth, both := w.changes, len(w.policies) == 2
	act := func() {
		if nth > w.noticed { // timers of one moment fire in any order
			w.noticed, w.inForce = nth, both
		}
	}
	switch {
	case w.deaf:
	case w.lag == 0:
		act()
	default:
		time.AfterFunc(w.lag, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			act()
		})
	}
}

// asked answers the creation of a workload, which must be a dry run.
func (w *world) asked(a k8stesting.Action) (bool, runtime.Object, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	create := a.(k8stesting.CreateActionImpl)
	if !slices.Equal(create.CreateOptions.DryRun, []string{metav1.DryRunAll}) {
		return true, nil, errors.New("not a dry run")
	}
	var meta metav1.ObjectMeta
	var template corev1.PodTemplateSpec
	switch o := create.Object.(type) {
	case *appsv1.Deployment:
		meta, template = o.ObjectMeta, o.Spec.Template
	case *appsv1.StatefulSet:
		meta, template = o.ObjectMeta, o.Spec.Template
	}
	if meta.ResourceVersion != "" || meta.UID != "" {
		return true, nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	if err, told := w.told[meta.Name]; told {
		return true, create.Object, err
	}
	if meta.Labels["holdfast.dev/critical"] == "true" && w.inForce && w.binds(a.GetResource().Resource) && !hard(template) {
		return true, nil, refusal(zonePolicy)
	}
	return true, create.Object, nil
}

// binds reports whether the policy matches a resource.
func (w *world) binds(resource string) bool {
	if w.policies["ValidatingAdmissionPolicy"] == nil {
		return true // the API server still follows a policy that was just removed
	}
	rules, _, _ := unstructured.NestedSlice(w.policies["ValidatingAdmissionPolicy"].Object, "spec", "matchConstraints", "resourceRules")
	return slices.Contains(rules[0].(map[string]any)["resources"].([]any), any(resource))
}

// hard evaluates the policy's expression.
func hard(template corev1.PodTemplateSpec) bool {
	return slices.ContainsFunc(template.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
		return c.TopologyKey == corev1.LabelTopologyZone && c.WhenUnsatisfiable == corev1.DoNotSchedule &&
			c.LabelSelector.MatchLabels["app"] == template.Labels["app"]
	})
}

// refusal is the API server's error for a refusal by a policy.
func refusal(policy string) error {
	err := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "no-constraint",
		fmt.Errorf("ValidatingAdmissionPolicy '%s' with binding '%[1]s' denied request: no", policy))
	err.ErrStatus.Reason, err.ErrStatus.Code = metav1.StatusReasonInvalid, 422
	return err
}

// answered returns the recorded answers in words.
func (w *world) answered() (lines []string) {
	for _, a := range w.tried {
		what := "accepted"
		if !a.Accepted {
			what = "refused by " + a.By
		}
		if a.Against != "" {
			what += ", against " + a.Against
		}
		lines = append(lines, a.Kind+" "+a.Name+": "+strings.ReplaceAll(what, zonePolicy, "it"))
	}
	return lines
}
