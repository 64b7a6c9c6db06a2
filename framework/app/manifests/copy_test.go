package manifests_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/app/manifests"
)

// listed are the kinds of what is read, by group, version and resource.
func listed() map[schema.GroupVersionResource]string {
	kinds := map[schema.GroupVersionResource]string{}
	for group, resources := range map[schema.GroupVersion]map[string]string{
		{Version: "v1"}: {
			"serviceaccounts": "ServiceAccountList", "configmaps": "ConfigMapList", "services": "ServiceList", "persistentvolumeclaims": "PersistentVolumeClaimList",
		},
		{Group: "apps", Version: "v1"}:                      {"deployments": "DeploymentList", "statefulsets": "StatefulSetList", "daemonsets": "DaemonSetList"},
		{Group: "batch", Version: "v1"}:                     {"cronjobs": "CronJobList"},
		{Group: "policy", Version: "v1"}:                    {"poddisruptionbudgets": "PodDisruptionBudgetList"},
		{Group: "autoscaling", Version: "v2"}:               {"horizontalpodautoscalers": "HorizontalPodAutoscalerList"},
		{Group: "rbac.authorization.k8s.io", Version: "v1"}: {"roles": "RoleList", "rolebindings": "RoleBindingList"},
		{Group: "networking.k8s.io", Version: "v1"}:         {"networkpolicies": "NetworkPolicyList", "ingresses": "IngressList"},
		{Group: "gateway.networking.k8s.io", Version: "v1"}: {"gateways": "GatewayList", "httproutes": "HTTPRouteList"},
	} {
		for resource, kind := range resources {
			kinds[group.WithResource(resource)] = kind
		}
	}
	return kinds
}

// cluster is an API server in memory with the objects of a file in testdata.
func cluster(t *testing.T, file string) *dynamicfake.FakeDynamicClient {
	t.Helper()
	var objects []runtime.Object
	for _, o := range documents(t, file) {
		objects = append(objects, &o)
	}
	return dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listed(), objects...)
}

func documents(t *testing.T, file string) (all []unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var o unstructured.Unstructured
		if err := yaml.UnmarshalStrict([]byte(document), &o.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	return all
}

// A copy has what somebody wrote, and nothing that the cluster made of it.
func TestCopyIsWhatSomebodyWrote(t *testing.T) {
	got, err := manifests.CopyOf(t.Context(), cluster(t, "shop.yaml"), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(documents(t, "shop-copied.yaml"), got.Objects); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	want := []string{"The secrets are missing: holdfast reads none."}
	if diff := cmp.Diff(want, got.Gaps); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

// refusing answers each list of a resource with an error.
func refusing(c *dynamicfake.FakeDynamicClient, resource string, err error) {
	c.PrependReactor("list", resource, func(k8stesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

func TestWhatMustNotBeReadIsAGap(t *testing.T) {
	client := cluster(t, "shop.yaml")
	refusing(client, "configmaps", apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no")))
	refusing(client, "httproutes", apierrors.NewNotFound(schema.GroupResource{Resource: "httproutes"}, ""))
	got, err := manifests.CopyOf(t.Context(), client, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if want := "The configmaps are missing: this user must not list them."; got.Gaps[0] != want {
		t.Errorf("got gaps %q, want %q first", got.Gaps, want)
	}
}

func TestACopyOfNothingIsAnError(t *testing.T) {
	for what, prepare := range map[string]func(*dynamicfake.FakeDynamicClient){
		"an empty namespace": func(c *dynamicfake.FakeDynamicClient) {
			for _, resource := range []string{"deployments", "statefulsets"} {
				refusing(c, resource, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no")))
			}
		},
		"an API server that fails": func(c *dynamicfake.FakeDynamicClient) {
			refusing(c, "services", apierrors.NewInternalError(errors.New("etcd is away")))
		},
	} {
		client := cluster(t, "shop.yaml")
		prepare(client)
		if got, err := manifests.CopyOf(t.Context(), client, "shop"); err == nil {
			t.Errorf("%s: got %v", what, got)
		}
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	got, err := manifests.CopyOf(t.Context(), cluster(t, "shop.yaml"), "shop")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "manifests")
	if err := got.Write(folder); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "deployment-web.yaml"))
	if err != nil || !strings.Contains(string(text), "kind: Deployment") {
		t.Errorf("got %q, %v", text, err)
	}
	if err := got.Write(folder); err == nil {
		t.Error("a second copy was written over the first")
	}
}
