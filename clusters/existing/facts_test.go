package existing

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// cloud is a cluster with two zones, an upgrade under way, and much that changes things by itself.
func cloud() *fake.Clientset {
	node := func(name, zone, kubelet string, labels ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-1a/i-1"}}
		n.Status.NodeInfo.KubeletVersion = kubelet
		if zone != "" {
			n.Labels[clusters.LabelZone] = zone
		}
		for _, l := range labels {
			n.Labels[l] = ""
		}
		return n
	}
	return client(
		[]string{"cilium.io/v2", "karpenter.sh/v1", "keda.sh/v1alpha1", "kyverno.io/v1", "kustomize.toolkit.fluxcd.io/v1", "argoproj.io/v1alpha1", "chaos-mesh.org/v1alpha1", "networking.istio.io/v1"},
		node("cp", "", "v1.37.0", "node-role.kubernetes.io/control-plane"), node("w1", "a", "v1.36.3"), node("w2", "b", "v1.37.0"), node("w3", "b", "v1.36.3"), node("w4", "", "v1.36.3"),
		&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "cilium"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "kube-proxy"}, Data: map[string]string{"config.conf": "kind: KubeProxyConfiguration\nmode: nftables\n"}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: autoscalerStatus}},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{enforceLabel: "restricted"}}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Labels: map[string]string{enforceLabel: "baseline"}}},
	)
}

// client is an API server in memory that serves some groups.
func client(groups []string, objects ...runtime.Object) *fake.Clientset {
	c := fake.NewClientset(objects...)
	for _, g := range groups {
		list := &metav1.APIResourceList{GroupVersion: g}
		if strings.HasPrefix(g, "argoproj.io/") {
			list.APIResources = []metav1.APIResource{{Name: "applications"}}
		}
		c.Resources = append(c.Resources, list)
	}
	c.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.0"}
	return c
}

func TestFacts(t *testing.T) {
	got, err := Facts(t.Context(), cloud(), []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Fact{
		{FactServer, "v1.37.0", ""},
		{FactProvider, "aws", ""},
		{FactNodes, "3 v1.36.3, 2 v1.37.0", "not all have the version of the API server: an upgrade may be under way"},
		{FactZones, "1 a, 2 b", "1 worker in none"},
		{FactNetwork, "Cilium", ""},
		{FactProxy, "nftables", ""},
		{FactMesh, "Istio", ""},
		{FactAutoscaler, "Karpenter, KEDA, cluster autoscaler, 1 HorizontalPodAutoscaler", ""},
		{FactPolicy, "Kyverno, Pod Security restricted in 1 namespace", ""},
		{FactGitOps, "Flux, Argo CD", ""},
		{FactChaos, "Chaos Mesh", ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// A user who may do little is told what is not known, and why. Nothing that cannot be read is taken for something that is not there.
func TestFactsOfALimitedUser(t *testing.T) {
	c := cloud()
	c.Resources = nil
	c.PrependReactor("*", "*", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if r := a.GetResource().Resource; r == "version" || r == "group" || r == "resource" { // discovery
			return false, nil, nil
		}
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: a.GetResource().Resource}, "", errors.New("no"))
	})
	got, err := Facts(t.Context(), c, []string{"shop"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range got {
		switch f.Name {
		case FactServer:
		case FactMesh, FactGitOps, FactChaos: // discovery alone tells
			if f.Is != "none seen" {
				t.Errorf("%+v", f)
			}
		default:
			if f.Is != "" || !strings.HasPrefix(f.String(), "not known: this user must not ") {
				t.Errorf("%+v: %s", f, f)
			}
		}
	}
}

func TestFactsOfAnAPIServerThatFails(t *testing.T) {
	for _, resource := range []string{"nodes", "daemonsets", "horizontalpodautoscalers", "validatingadmissionpolicies", "namespaces"} {
		c := cloud()
		c.PrependReactor("list", resource, func(k8stesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewInternalError(errors.New("etcd is away"))
		})
		if got, err := Facts(t.Context(), c, []string{"shop"}); err == nil {
			t.Errorf("%s: got %v", resource, got)
		}
	}
}

func TestMissing(t *testing.T) {
	c := fake.NewClientset()
	c.PrependReactor("create", "selfsubjectaccessreviews", func(a k8stesting.Action) (bool, runtime.Object, error) {
		review := a.(k8stesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		review.Status.Allowed = review.Spec.ResourceAttributes.Verb == "list"
		return true, review, nil
	})
	list := Permission{Verb: "list", Resource: "pods", Namespace: "shop"}
	evict := Permission{Verb: "create", Resource: "pods", Subresource: "eviction", Namespace: "shop"}
	scale := Permission{Verb: "patch", Group: "apps", Resource: "deployments", Subresource: "scale", Name: "web"}
	got, err := Missing(t.Context(), c, list, evict, scale)
	if diff := cmp.Diff([]Permission{evict, scale}, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if text := evict.String(); text != "create pods/eviction in namespace shop" {
		t.Error(text)
	}
	if text := scale.String(); text != "patch deployments.apps/scale web" {
		t.Error(text)
	}
}
