package reading_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
)

const (
	shop  = "shop"
	image = "docker.io/shop/web:1"
)

// staging is a cluster with three workers, and a shop of three pods under a budget, in which nothing keeps a fault from being done.
type staging struct {
	client  *fake.Clientset
	untyped *dynamicfake.FakeDynamicClient
	request disturb.Request
}

func named(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), Labels: map[string]string{}}
}

func ownedBy(kind, name string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: uid, Controller: new(true)}}
}

func newStaging(t *testing.T, faults ...string) *staging {
	t.Helper()
	labels := map[string]string{"app": "web"}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "web", Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
	}}}}
	deployment := &appsv1.Deployment{
		ObjectMeta: named(shop, "web"),
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
		Status:     appsv1.DeploymentStatus{Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3, AvailableReplicas: 3},
	}
	deployment.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubectl-create", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}}
	set := &appsv1.ReplicaSet{ObjectMeta: named(shop, "web-1"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(3)), Template: template}}
	set.OwnerReferences = ownedBy("Deployment", "web", deployment.UID)
	owner := &corev1.Namespace{ObjectMeta: named("", shop)}
	owner.Labels[disturb.KeyLabel] = disturb.Allowed
	objects := []runtime.Object{
		owner, deployment, set,
		&policyv1.PodDisruptionBudget{
			ObjectMeta: named(shop, "web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}},
			Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, CurrentHealthy: 3, DesiredHealthy: 2},
		},
		&corev1.Service{ObjectMeta: named(shop, "web"), Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}}},
	}
	for _, name := range []string{"w1", "w2", "w3"} {
		node := &corev1.Node{ObjectMeta: named("", name), Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Images:      []corev1.ContainerImage{{Names: []string{image}}},
		}}
		node.Labels[corev1.LabelHostname] = name
		pod := &corev1.Pod{ObjectMeta: named(shop, "web-1-"+name), Spec: *template.Spec.DeepCopy(), Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}}
		pod.Labels, pod.Spec.NodeName, pod.OwnerReferences = labels, name, ownedBy("ReplicaSet", "web-1", set.UID)
		objects = append(objects, node, pod)
	}
	s := &staging{client: fake.NewClientset(objects...), request: disturb.Request{
		UID: "cluster-1", Context: "staging", Disturb: true, Namespace: shop, Home: "holdfast", Workloads: []disturb.Object{{Kind: disturb.KindDeployment, Name: "web"}},
	}}
	var err error
	if s.request.Faults, err = catalogue.Named(faults); err != nil {
		t.Fatal(err)
	}
	s.untyped = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		{Group: "chaos-mesh.org", Version: "v1alpha1", Resource: "podchaos"}: "PodChaosList",
		{Group: "keda.sh", Version: "v1alpha1", Resource: "scaledobjects"}:   "ScaledObjectList",
	})
	s.may(func(authorizationv1.ResourceAttributes) bool { return true })
	s.client.PrependReactor("create", "pods", func(a k8stesting.Action) (bool, runtime.Object, error) {
		return true, a.(k8stesting.CreateAction).GetObject(), nil // a dry run stores nothing
	})
	return s
}

// may answers the questions about the user's rights.
func (s *staging) may(what func(authorizationv1.ResourceAttributes) bool) {
	s.client.PrependReactor("create", "selfsubjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		review := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = what(*review.Spec.ResourceAttributes)
		return true, review, nil
	})
}

// forbid refuses to show a resource, or to create it.
func (s *staging) forbid(verb, resource string) {
	s.client.PrependReactor(verb, resource, func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not today"))
	})
}

func (s *staging) reader() reading.Reader {
	return reading.Reader{
		Client: s.client, Dynamic: s.untyped, Server: "https://staging:6443", Context: "staging",
		Identify: func(context.Context) (existing.Identity, error) {
			return existing.Identity{UID: "cluster-1", Kubernetes: "v1.37.1", User: "jane"}, nil
		},
	}
}

func (s *staging) plan(t *testing.T) disturb.Plan {
	t.Helper()
	snapshot, err := s.reader().Read(t.Context(), s.request)
	if err != nil {
		t.Fatal(err)
	}
	return disturb.Make(s.request, snapshot)
}

func reasons(p disturb.Plan) string {
	all := slices.Clone(p.Refusals)
	for _, s := range p.Steps {
		all = append(all, s.Refusals...)
	}
	var lines []string
	for _, r := range all {
		lines = append(lines, r.Object.String()+": "+r.Reason)
	}
	return strings.Join(lines, "\n")
}

// Everything that the rules ask about is read, and nothing is written: a pod is only created with dryRun=All.
func TestReadingWritesNothing(t *testing.T) {
	s := newStaging(t, "rollout", "delete-pod", "scale", "drain", "cordon")
	p := s.plan(t)
	if p.Refused() || len(p.Steps) != 5 || p.Cluster.User != "jane" || p.Cluster.UID != "cluster-1" {
		t.Errorf("%+v, refused:\n%s", p.Cluster, reasons(p))
	}
	asked := false
	for _, a := range s.client.Actions() {
		switch made, is := a.(k8stesting.CreateActionImpl); {
		case !is && slices.Contains([]string{"get", "list"}, a.GetVerb()), is && a.GetResource().Resource == "selfsubjectaccessreviews":
		case is && a.GetResource().Resource == "pods" && a.GetSubresource() == "" && slices.Equal(made.CreateOptions.DryRun, []string{metav1.DryRunAll}):
			asked = true
		default:
			t.Errorf("sent %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	if !asked {
		t.Error("nobody asked whether a pod would be admitted")
	}
	for _, a := range s.untyped.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("sent %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// What may not be read is refused, and never allowed.
func TestWhatIsNotReadIsRefused(t *testing.T) {
	for resource, verb := range map[string]string{
		"nodes": "list", "pods": "list", "deployments": "list", "statefulsets": "list", "replicasets": "list", "poddisruptionbudgets": "list",
		"horizontalpodautoscalers": "list", "configmaps": "get", "leases": "get", "namespaces": "get",
	} {
		s := newStaging(t, "delete-pod", "drain")
		s.forbid(verb, resource)
		if p := s.plan(t); !p.Refused() {
			t.Errorf("%s cannot be read, and nothing is refused", resource)
		}
	}
}

func TestWhatIsRead(t *testing.T) {
	serve := func(s *staging, group, resource, kind string) {
		s.client.Resources = append(s.client.Resources, &metav1.APIResourceList{
			GroupVersion: group + "/v1alpha1", APIResources: []metav1.APIResource{{Name: resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"list"}}},
		})
	}
	add := func(t *testing.T, s *staging, group, resource, kind, namespace string, spec map[string]any) {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetAPIVersion(group + "/v1alpha1")
		o.SetKind(kind)
		o.SetNamespace(namespace)
		o.SetName("x")
		serve(s, group, resource, kind)
		if err := s.untyped.Tracker().Create(schema.GroupVersionResource{Group: group, Version: "v1alpha1", Resource: resource}, o, namespace); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		fault  string
		change func(*testing.T, *staging)
		want   string
	}{
		"another chaos tool": {"delete-pod", func(t *testing.T, s *staging) { add(t, s, "chaos-mesh.org", "podchaos", "PodChaos", "qa", nil) },
			"PodChaos qa/x: it is an object of another chaos tool"},
		"an autoscaler of KEDA": {"scale", func(t *testing.T, s *staging) {
			add(t, s, "keda.sh", "scaledobjects", "ScaledObject", shop, map[string]any{"scaleTargetRef": map[string]any{"name": "web"}})
		}, "ScaledObject shop/x decides its number of replicas"},
		"an autoscaler that scales": {"delete-pod", func(t *testing.T, s *staging) {
			h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: named(shop, "web"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
			}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{CurrentReplicas: 3, DesiredReplicas: 5}}
			if err := s.client.Tracker().Add(h); err != nil {
				t.Fatal(err)
			}
		}, "it is scaling Deployment shop/web: from 3 replicas to 5"},
		"the cluster autoscaler is at work": {"delete-pod", func(t *testing.T, s *staging) {
			c := &corev1.ConfigMap{ObjectMeta: named("kube-system", existing.AutoscalerStatus), Data: map[string]string{
				"status": "clusterWide:\n  scaleUp:\n    status: InProgress\n",
			}}
			if err := s.client.Tracker().Add(c); err != nil {
				t.Fatal(err)
			}
		}, "the cluster autoscaler is at work: scaleup in progress"},
		"a quota": {"delete-pod", func(_ *testing.T, s *staging) { s.forbid("create", "pods") }, "a replacement of its pods would not be admitted"},
		"a right is missing": {"delete-pod", func(_ *testing.T, s *staging) {
			s.may(func(a authorizationv1.ResourceAttributes) bool { return a.Subresource != "eviction" })
		}, "jane may not create pods/eviction"},
		"its owner has not allowed it": {"delete-pod", func(_ *testing.T, s *staging) {
			n := &corev1.Namespace{ObjectMeta: named("", shop)}
			_ = s.client.Tracker().Update(corev1.SchemeGroupVersion.WithResource("namespaces"), n, "")
		}, "neither it nor its namespace has the label holdfast.dev/disturb"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStaging(t, test.fault)
			test.change(t, s)
			if got := reasons(s.plan(t)); !strings.Contains(got, test.want) {
				t.Errorf("refused:\n%s\nwant %s", got, test.want)
			}
		})
	}
}

// An API server that does not answer, or does not know the user, is an error, and no plan.
func TestNoAnswerIsNoPlan(t *testing.T) {
	for name, err := range map[string]error{"no answer": errors.New("no route to host"), "unknown user": apierrors.NewUnauthorized("who are you?")} {
		s := newStaging(t, "drain")
		s.client.PrependReactor("list", "pods", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		if _, got := s.reader().Read(t.Context(), s.request); !errors.Is(got, err) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestApp(t *testing.T) {
	s := newStaging(t, "drain")
	app, err := s.reader().App(t.Context(), shop)
	if err != nil || len(app.Workloads) != 1 || app.Workloads[0].Name != "web" || len(app.Services) != 1 {
		t.Errorf("%+v, %v", app.Workloads, err)
	}
	if _, err := s.reader().App(t.Context(), "empty"); err == nil || !strings.Contains(err.Error(), "namespace empty has no Deployment and no StatefulSet") {
		t.Errorf("%v", err)
	}
	s.forbid("list", "services")
	var unanswered *reading.UnansweredError
	if _, err := s.reader().App(t.Context(), shop); !errors.As(err, &unanswered) || !strings.Contains(err.Error(), "read the application in namespace shop: ") {
		t.Errorf("%v", err)
	}
}
