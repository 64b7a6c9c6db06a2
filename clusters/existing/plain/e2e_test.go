//go:build e2e

package plain

import (
	"context"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// go test -tags e2e -timeout 20m -run E2E ./clusters/existing/plain
func TestE2EPlain(t *testing.T) {
	e, err := engine.Find(t.Context(), engine.Options{Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Create(t.Context(), e, Options{Name: "fixture", Dir: t.TempDir(), Workers: 2, Zones: []string{"a", "b"}, Audit: true, Kubernetes: os.Getenv("HOLDFAST_KUBERNETES")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	admin := clientOf(t, c.Kubeconfig())
	nodes, err := admin.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 3 {
		t.Fatalf("%d nodes, %v", len(nodes.Items), err)
	}
	for _, n := range nodes.Items {
		for label := range n.Labels {
			if strings.Contains(label, "holdfast") {
				t.Errorf("%s has label %s", n.Name, label)
			}
		}
	}
	path, err := c.User(t.Context(), "eve")
	if err != nil {
		t.Fatal(err)
	}
	eve := clientOf(t, path)
	if _, err := eve.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("without a Role: %v", err)
	}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}
	if err := c.Allow(t.Context(), "eve", "default", rule); err != nil {
		t.Fatal(err)
	}
	if _, err := eve.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	if err := c.Apply(t.Context(), Careful("holdfast.local/none:1")); err != nil {
		t.Error(err)
	}
	expectAudited(t, c)
}

func expectAudited(t *testing.T, c *Cluster) {
	t.Helper()
	seen, err := c.Audited("eve")
	if err != nil || len(seen) < 2 || seen[0].ResponseStatus.Code != 403 || seen[len(seen)-1].ResponseStatus.Code != 200 {
		t.Errorf("the audit log has of eve: %v, %v", seen, err)
	}
	for _, r := range seen {
		if r.Writes() {
			t.Errorf("eve only read, and the log says: %s", r)
		}
	}
}

func clientOf(t *testing.T, kubeconfig string) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
