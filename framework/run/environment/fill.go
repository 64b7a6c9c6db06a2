package environment

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads"
)

// fillPerPod is the time that each pod of a fill adds to deployLimit: on two cores that did nothing else, 35 a second became ready.
const fillPerPod = 100 * time.Millisecond

// fillAtOnce is the number of pods of a fill that are not ready from which on no further Deployment is created. The controller manager creates pods ten times faster than they are
// bound: 150,000 at once left the API server no time for the leases of the nodes. Of 5,000 at once, kwok made three
// patches for each pod that became ready, and a new pod became ready after minutes.
const fillAtOnce = 1000

// toldEvery is how many further pods must be ready until the number is told again.
const toldEvery = 5000

// fill creates the pods that fill the simulated nodes, and returns when all are ready.
func (env *Environment) fill(ctx context.Context) error {
	if env.Spec.Simulated == nil {
		return nil
	}
	fill := env.Spec.Simulated.Fill()
	objects, err := fill.Objects(env.place(env.image))
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d pods on simulated nodes to be ready", fill.Pods)
	limit := deployLimit + time.Duration(fill.Pods)*fillPerPod
	created, told := 0, 0
	err = poll.Until(ctx, what, limit, func(ctx context.Context) (bool, string, error) {
		ready, err := env.filled(ctx)
		if err != nil {
			return false, "", err
		}
		for ; len(objects) > 0 && created-ready < fillAtOnce; objects = objects[1:] {
			if err := env.create(ctx, objects[0]); err != nil && !apierrors.IsAlreadyExists(err) { // the answer to the first attempt may have been lost
				return false, "", err
			}
			created += int(*objects[0].(*appsv1.Deployment).Spec.Replicas)
		}
		saw := fmt.Sprintf("%d of %d are ready", ready, fill.Pods)
		if ready >= told+toldEvery {
			told = ready
			env.Now(history.Deploy, saw)
		}
		return ready == fill.Pods, saw, nil
	})
	if err != nil || fill.Pods <= fillAtOnce {
		return err
	}
	env.Now(history.Deploy, "the control plane reports what it did")
	return env.reported(ctx, limit)
}

// quietFor is how long no Event comes once the control plane has caught up.
const quietFor = 5 * time.Second

// reported waits until the Events about the pods of a fill have come: the scheduler and the controller manager are minutes behind with them, and
// meanwhile the API server is so busy that watches are late.
func (env *Environment) reported(ctx context.Context, limit time.Duration) error {
	seen, since := int64(-1), time.Now()
	return poll.Until(ctx, "the Events about the pods on simulated nodes to have come", limit, func(ctx context.Context) (bool, string, error) {
		some, err := env.client.CoreV1().Events(env.namespace).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			return false, "", err
		}
		n := int64(len(some.Items)) + ptr.Deref(some.RemainingItemCount, 0)
		if n > seen { // fewer: old ones have expired, which the API server does after an hour
			since = time.Now()
		}
		seen = n
		return time.Since(since) >= quietFor, fmt.Sprintf("%d Events", n), nil
	})
}

// filled is how many pods of the fill are ready.
func (env *Environment) filled(ctx context.Context) (ready int, err error) {
	list, err := env.client.AppsV1().Deployments(env.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for _, d := range list.Items {
		if workloads.IsFill(d.Name) {
			ready += int(d.Status.AvailableReplicas)
		}
	}
	return ready, nil
}
