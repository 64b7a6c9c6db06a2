package existing

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

// cloud is a cluster with two zones, an upgrade under way, and controllers of its own.
func cloud() *fake.Clientset {
	node := func(name, zone, kubelet string, labels ...string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}, Spec: corev1.NodeSpec{ProviderID: "aws:///eu-1a/i-1"}}
		n.Status.NodeInfo.KubeletVersion = kubelet
		n.Annotations = map[string]string{"flannel.alpha.coreos.com/backend-type": "vxlan"}
		if zone != "" {
			n.Labels[clusters.LabelZone] = zone
		}
		for _, l := range labels {
			n.Labels[l] = ""
		}
		return n
	}
	c := fake.NewClientset(node("cp", "", "v1.37.0", "node-role.kubernetes.io/control-plane"), node("w1", "a", "v1.36.3"), node("w2", "b", "v1.37.0"),
		node("w3", "b", "v1.36.3"), node("w4", "", "v1.36.3"))
	for _, g := range []string{"cilium.io/v2", "karpenter.sh/v1", "kustomize.toolkit.fluxcd.io/v1", "source.toolkit.fluxcd.io/v1", "chaos-mesh.org/v1alpha1"} {
		c.Resources = append(c.Resources, &metav1.APIResourceList{GroupVersion: g})
	}
	c.Discovery().(*fakediscovery.FakeDiscovery).FakedServerVersion = &version.Info{GitVersion: "v1.37.0"}
	return c
}

// A user who may do little is told what is not known, and why. An API server that fails is an error.
func TestFacts(t *testing.T) {
	fails := func(err error) *fake.Clientset {
		c := cloud()
		c.PrependReactor("list", "nodes", func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		return c
	}
	const unread = "this user must not list nodes"
	for name, test := range map[string]struct {
		client *fake.Clientset
		want   []Fact
	}{
		"all": {cloud(), []Fact{
			{FactServer, "v1.37.0", ""}, {FactProvider, "aws", ""},
			{FactNodes, "3 v1.36.3, 2 v1.37.0", "not all have the version of the API server: an upgrade may be under way"},
			{FactZones, "1 a, 2 b", "workers without a zone: 1"}, {FactNetwork, "Cilium, Flannel", ""}, {FactTools, "Chaos Mesh, Flux, Karpenter", ""},
		}},
		"a limited user": {fails(apierrors.NewForbidden(corev1.Resource("nodes"), "", errors.New("no"))), []Fact{
			{FactServer, "v1.37.0", ""}, {FactProvider, "", unread}, {FactNodes, "", unread}, {FactZones, "", unread}, {FactNetwork, "Cilium", ""},
			{FactTools, "Chaos Mesh, Flux, Karpenter", ""},
		}},
		"an API server that fails": {fails(apierrors.NewInternalError(errors.New("etcd is away"))), nil},
	} {
		got, err := Facts(t.Context(), test.client)
		if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.want == nil) {
			t.Errorf("%s: %v, facts (-want +got):\n%s", name, err, diff)
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
