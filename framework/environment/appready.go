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

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/poll"
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
			pods := slices.DeleteFunc(slices.Clone(list.Items), func(p corev1.Pod) bool { return !of.Owns(&p) })
			ready := len(pods) - len(slices.DeleteFunc(slices.Clone(pods), isReady))
			saw, hopeless, err := env.deployed.Follow(ctx, w, fmt.Sprintf("%d of %d pods ready", ready, want), ready >= want, pods)
			switch {
			case err != nil:
				return false, "", err
			case hopeless:
				stuck = fmt.Errorf("%s %s does not become ready: %s", w.Kind, w.Name, saw)
				return true, "", nil
			case ready < want:
				waiting = append(waiting, fmt.Sprintf("%s %s: %s", w.Kind, w.Name, saw))
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
