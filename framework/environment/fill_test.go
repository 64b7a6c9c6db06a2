package environment

import (
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/internal/errtest"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
)

// TestFilled waits until the 600 pods that fill the cluster are ready, which are in two Deployments, and gives up at its limit.
func TestFilled(t *testing.T) {
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
		"not created":    {nil, limit, "last seen 0 of 600 are ready"},
		"those of others do not count": {
			[]change{{0, "fill-1", 500}, {0, "fill-3", 100}, {0, "backend", 100}}, limit, "last seen 500 of 600 are ready",
		},
		"too many are not all":  {[]change{{0, "fill-1", 500}, {0, "fill-2", 101}}, limit, "last seen 601 of 600 are ready"},
		"ready after the limit": {[]change{{0, "fill-1", 500}, {limit + time.Second, "fill-2", 100}}, limit, "last seen 500 of 600 are ready"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := quiet()
				s.Simulated = &scenario.Simulated{Backend: workloads.Backend{Replicas: 20}, Pods: 620}
				env, fake, _ := newEnvironment(t, s)
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
				errtest.Check(t, env.filled(t.Context()), test.want)
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
	errtest.Check(t, env.filled(t.Context()), "")
}
