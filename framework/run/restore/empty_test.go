package restore

import (
	"net/http"
	"path"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

// Of many pods, the controllers go first: each of their attempts to replace a pod would cost more than its deletion. Few pods are deleted
// while their controllers exist, as Kubernetes does with any namespace.
func TestManyPodsGoAfterTheirControllers(t *testing.T) {
	for pods, want := range map[int][]string{
		manyPods:     {"ns", "pods"},
		manyPods + 1: {"ns", "deployments", "replicasets", "pods"},
	} {
		fake := clustertest.New("demo", clusters.Spec{Zones: []string{"a"}})
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}}
		fake.Put("/api/v1/namespaces", n)
		for i := range pods {
			fake.Put("/api/v1/namespaces/ns/pods", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p" + strconv.Itoa(i)}})
		}
		var deleted []string
		fake.Refuse = func(method, at string) *apierrors.StatusError {
			if method == http.MethodDelete {
				deleted = append(deleted, path.Base(at))
			}
			return nil
		}
		fake.Keep = true // as a namespace that is being deleted does
		client, err := kubernetes.NewForConfig(fake.Config())
		if err != nil {
			t.Fatal(err)
		}
		errtest.Check(t, EmptyNamespace(t.Context(), client, n), "")
		if !slices.Equal(deleted, want) {
			t.Errorf("of a namespace with %d pods were deleted, in this order, %q; want %q", pods, deleted, want)
		}
	}
}
