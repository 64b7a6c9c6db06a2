package environment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// appLimit is how long an application may take to become ready.
const appLimit = 5 * time.Minute

// appReady waits until every pod of the application's workloads is ready. A workload that cannot become ready ends the wait, with what
// Kubernetes says of it.
func (env *Environment) appReady(ctx context.Context) error {
	var stuck error
	err := poll.Until(ctx, "the application to be ready", appLimit, func(ctx context.Context) (bool, string, error) {
		list, err := env.client.CoreV1().Pods(env.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var waiting []string
		for _, w := range env.Spec.App.Workloads {
			of := TargetFor(fault.Target{Namespace: env.namespace, Client: env.client}, w.Controller)
			want, err := env.replicas(ctx, of, w)
			if err != nil {
				return false, "", err
			}
			if want == 0 && w.Kind == workloads.DaemonSet && w.Name == env.backend {
				stuck = fmt.Errorf("DaemonSet %s is scheduled to no node: give its pods a nodeSelector, an affinity and tolerations that a worker fulfils", w.Name)
				return true, "", nil
			}
			ready := 0
			for _, p := range list.Items {
				if of.Owns(&p) && isReady(p) {
					ready++
				}
			}
			said, hopeless, err := env.deployed.Look(ctx, w)
			saw := fmt.Sprintf("%s %s: %d of %d pods ready: %s", w.Kind, w.Name, ready, want, said)
			switch {
			case err != nil:
				return false, "", err
			case ready >= want:
			case hopeless:
				stuck = fmt.Errorf("the application does not become ready: %s", saw)
				return true, "", nil
			default:
				waiting = append(waiting, saw)
			}
		}
		return len(waiting) == 0, strings.Join(waiting, "; "), nil
	})
	return errors.Join(err, stuck)
}

// replicas is how many pods a workload should have. Of a DaemonSet its controller knows that, once it has looked.
func (env *Environment) replicas(ctx context.Context, of fault.Target, w app.Workload) (int, error) {
	if w.Kind != workloads.DaemonSet {
		return int(w.Replicas), nil
	}
	d, err := of.Controller(ctx)
	if err != nil {
		return 0, err
	}
	if d.Status.ObservedGeneration < d.Generation {
		return 0, fmt.Errorf("its controller has not looked at DaemonSet %s yet", w.Name)
	}
	return int(*d.Spec.Replicas), nil
}

func isReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
