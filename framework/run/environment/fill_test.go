package environment

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kwok"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// TestFill waits until the 600 pods that fill the cluster are ready, which are in two Deployments, and gives up at its limit.
func TestFill(t *testing.T) {
	const limit = deployLimit + 600*fillPerPod
	type change struct {
		after     time.Duration
		name      string
		available int32
	}
	for name, test := range map[string]struct {
		changes []change
		took    time.Duration
		want    string
	}{
		"ready at once":  {[]change{{0, "fill-1", 500}, {0, "fill-2", 100}}, 0, ""},
		"ready later on": {[]change{{0, "fill-1", 500}, {time.Minute, "fill-2", 40}, {2 * time.Minute, "fill-2", 100}}, 2 * time.Minute, ""},
		"never all":      {[]change{{0, "fill-1", 500}, {time.Minute, "fill-2", 99}}, limit, "waited 3m0s for 600 pods on simulated nodes to be ready: last seen 599 of 600 are ready"},
		"never any":      {nil, limit, "last seen 0 of 600 are ready"},
		"those of others do not count": {
			[]change{{0, "fill-1", 500}, {0, "simulated", 20}, {0, "backend", 100}}, limit, "last seen 500 of 600 are ready",
		},
		"too many are not all":  {[]change{{0, "fill-1", 500}, {0, "fill-2", 101}}, limit, "last seen 601 of 600 are ready"},
		"ready after the limit": {[]change{{0, "fill-1", 500}, {limit + time.Second, "fill-2", 100}}, limit, "last seen 500 of 600 are ready"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet()
				s.Simulated = &scenario.Simulated{Backend: workloads.Backend{Replicas: 20}, Pods: 620}
				env, fake, _ := newEnvironment(t, s)
				fake.Deaf = true // a Deployment has the status that the test gives it
				for _, c := range test.changes {
					timer := time.AfterFunc(c.after, func() {
						fake.Put("/apis/apps/v1/namespaces/"+env.namespace+"/deployments", &appsv1.Deployment{
							ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: c.name},
							Status:     appsv1.DeploymentStatus{AvailableReplicas: c.available},
						})
					})
					defer timer.Stop()
				}
				synctest.Wait()
				began := time.Now()
				errtest.Check(t, env.fill(t.Context()), test.want)
				if took := time.Since(began).Round(time.Second); took != test.took {
					t.Errorf("it took %s, want %s", took, test.took)
				}
			})
		})
	}
}

func TestNothingFillsAClusterWithoutSimulatedNodes(t *testing.T) {
	env, _, _ := newEnvironment(t, quiet())
	env.client = nil // nothing is asked
	errtest.Check(t, env.fill(t.Context()), "")
}

// Of many pods, more are created only as earlier ones become ready. A creation that fails is tried again.
func TestManyPodsComeInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet()
		s.Simulated = &scenario.Simulated{Backend: workloads.Backend{Replicas: 20}, Pods: 20 + 10*fillAtOnce}
		env, fake, _ := newEnvironment(t, s)
		collection := "/apis/apps/v1/namespaces/" + env.namespace + "/deployments"
		var created []time.Duration // when each Deployment was
		began, refused := time.Now(), false
		fake.Deaf = true
		fake.Refuse = func(method, at string) *apierrors.StatusError {
			if method != http.MethodPost || at != collection {
				return nil
			}
			if len(created) == 3 && !refused {
				refused = true
				return apierrors.NewTooManyRequests("busy", 1)
			}
			created = append(created, time.Since(began).Round(time.Minute))
			return nil
		}
		for i := range env.Spec.Simulated.Fill().Deployments() {
			// Two are ready after a minute, and each minute one more is.
			timer := time.AfterFunc(time.Duration(max(1, i))*time.Minute, func() {
				fake.Put(collection, &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: workloads.FillName(i)},
					Status:     appsv1.DeploymentStatus{AvailableReplicas: 500},
				})
			})
			defer timer.Stop()
		}
		errtest.Check(t, env.fill(t.Context()), "waited 18m40s for 10000 pods on simulated nodes to be ready: last seen 9500 of 10000 are ready")
		want := []time.Duration{0, 0, time.Minute, time.Minute}
		for i := range 16 {
			want = append(want, time.Duration(i+2)*time.Minute)
		}
		if !refused || !slices.Equal(created, want) {
			t.Errorf("Deployments were created after %s, want %s", created, want)
		}
	})
}

// After many pods have come, the control plane reports for a while what it did. No scenario begins before that is over.
func TestManyPodsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quiet()
		s.Simulated = &scenario.Simulated{Backend: workloads.Backend{Replicas: 20}, Pods: 20 + 2*fillAtOnce}
		env, fake, _ := newEnvironment(t, s)
		fake.Deaf = true
		for i := range env.Spec.Simulated.Fill().Deployments() {
			fake.Put("/apis/apps/v1/namespaces/"+env.namespace+"/deployments", &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: workloads.FillName(i)},
				Status:     appsv1.DeploymentStatus{AvailableReplicas: 500},
			})
		}
		for i := range 20 {
			timer := time.AfterFunc(time.Duration(3*i)*time.Second, func() {
				fake.Put("/api/v1/namespaces/"+env.namespace+"/events", &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "e" + strconv.Itoa(i)}})
			})
			defer timer.Stop()
		}
		began := time.Now()
		errtest.Check(t, env.fill(t.Context()), "")
		if took := time.Since(began).Round(time.Second); took != 57*time.Second+quietFor {
			t.Errorf("it took %s, and the last Event came after 57 s", took)
		}
	})
}

// As many pods of a fill as a simulated node takes have what they request there. Two or three of them lower the scheduler's score of the node, which is from
// 0 to 100, so that the next goes elsewhere.
func TestPodsOfAFillAreDealtToTheNodes(t *testing.T) {
	objects, err := workloads.Fill{Pods: 1}.Objects(workloads.Place{Namespace: "ns", Image: "i"})
	if err != nil || len(objects) != 1 {
		t.Fatal(len(objects), err)
	}
	requests, node := objects[0].(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Resources.Requests, kwok.Resources()
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		one, all := requests[name], node[name]
		if share := one.AsApproximateFloat64() / all.AsApproximateFloat64(); share*clusters.PodsPerSimulatedNode > 1 || share*3 < 0.01 {
			t.Errorf("a pod requests %s of %s, of %s", one.String(), name, all.String())
		}
	}
}
