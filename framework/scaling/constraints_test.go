package scaling

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads"
)

const scalingNamespace = "/api/v1/namespaces/hf-scaling"

// scheduling is a cluster whose scheduler counts so many pods more each time that it is asked.
func scheduling(pods int) *clustertest.Cluster {
	c, asked := clustertest.New("demo", clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 4}), 0
	c.Node("cp").OnExec = func([]string) ([]byte, error) {
		asked++
		return fmt.Append(nil, strings.NewReplacer(
			`_count{profile="default-scheduler",result="scheduled"} 5`, fmt.Sprintf(`_count{profile="default-scheduler",result="scheduled"} %d`, 5+asked*pods),
		).Replace(metrics)), nil
	}
	return c
}

// Each constraint is bound on the same cluster, one after the other, and leaves nothing there.
func TestBind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := scheduling(3)
		for _, how := range Constraints() {
			b, err := Bind(t.Context(), c, how, 3, t.TempDir()+"/record")
			if err != nil || b.Scheduler.Attempt.Count != 3 || b.Pods != 3 || b.Gaps+b.Replaced > 0 {
				t.Errorf("%s: %+v, %v", how.Name, b, err)
			}
			if c.Get(scalingNamespace) != nil {
				t.Errorf("%s: the namespace is left", how.Name)
			}
		}
	})
}

// What cannot be bound is an error with its cause, and what was created is removed.
func TestBindFails(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*clustertest.Cluster)
		pods  int // that the scheduler counts
		want  string
		left  bool // what was there before
	}{
		"left by a killed measurement": {
			func(c *clustertest.Cluster) { c.Put("/api/v1/namespaces", workloads.Namespace("hf-scaling")) }, 3,
			`create namespace hf-scaling: namespaces "hf-scaling" already exists: a measurement that was killed has left it, and 'holdfast heal demo' removes it`, true,
		},
		"a scheduler that was started again": {func(*clustertest.Cluster) {}, 2, "bind 3 pods with none: the scheduler has counted 2 of 3 pods", false},
		"nothing can be watched": {func(c *clustertest.Cluster) {
			c.Refuse = func(method, path string) *apierrors.StatusError {
				if method == http.MethodGet && strings.HasSuffix(path, "/endpointslices") {
					return apierrors.NewUnauthorized("no")
				}
				return nil
			}
		}, 3, "list endpointslices: ", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, dir := scheduling(test.pods), t.TempDir()+"/record"
				test.spoil(c)
				_, err := Bind(t.Context(), c, Constraints()[0], 3, dir)
				errtest.Check(t, err, test.want)
				if there := c.Get(scalingNamespace) != nil; there != test.left {
					t.Errorf("the namespace is there: %t", there)
				}
				if test.left {
					return
				}
				if r, err := history.Open(dir); err != nil || r.Incomplete != "" {
					t.Errorf("the record is not closed: %s, %v", r.Incomplete, err)
				}
			})
		})
	}
}

func TestSince(t *testing.T) {
	looked := func(pods float64) Scheduler { return Scheduler{Attempt: Histogram{Count: pods}} }
	if s, err := Since(looked(5), looked(15), 10); err != nil || s.Attempt.Count != 10 {
		t.Errorf("%+v, %v", s, err)
	}
	_, err := Since(looked(500), looked(10), 10)
	errtest.Check(t, err, "the scheduler has counted 0 of 10 pods that it was to bind: it was started again meanwhile, or did not bind all of them; measure again")
}

// A pod that is being deleted on a node that was lost has a node, and is not one of those that were to be bound.
func TestPodsThatAreBeingDeletedAreNotBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, asked := fake.NewClientset(), 0
		client.PrependReactor("list", "pods", func(k8stesting.Action) (bool, runtime.Object, error) {
			asked++
			dying := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "dying", DeletionTimestamp: new(metav1.Now())}}
			list := &corev1.PodList{Items: []corev1.Pod{{}, dying}}
			if asked > 2 {
				list.Items = append(list.Items, corev1.Pod{})
			}
			return true, list, nil
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		errtest.Check(t, bindAll(ctx, client, Constraints()[1], 2, "hf-scaling"), "")
		if asked != 3 {
			t.Errorf("asked %d times, want until two pods that stay are bound", asked)
		}
	})
}
