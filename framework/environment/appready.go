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

	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	// appLimit is how long an application may take to become ready.
	appLimit = 5 * time.Minute
	// stuckAfter is how long a pod may look stuck before it counts as stuck: what it waits for may be created after it.
	stuckAfter = 20 * time.Second
	// crashes is how many restarts of a container show that it does not start.
	crashes = 3
)

// appReady waits until every pod of the application's workloads is ready. A pod that cannot become ready ends the wait, with what
// Kubernetes says of it.
func (env *Environment) appReady(ctx context.Context) error {
	since := map[string]time.Time{} // when a pod was first seen stuck
	var stuck error
	err := poll.Until(ctx, "the application to be ready", appLimit, func(ctx context.Context) (bool, string, error) {
		list, err := env.client.CoreV1().Pods(env.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, "", err
		}
		var waiting []string
		for _, w := range env.Spec.App.Workloads {
			ready := 0
			for _, p := range list.Items {
				if !owned(w, p) {
					continue
				}
				if isReady(p) {
					ready++
					continue
				}
				why := env.whyStuck(ctx, p)
				if why == "" {
					delete(since, p.Name)
					continue
				}
				if _, known := since[p.Name]; !known {
					since[p.Name] = time.Now()
				}
				if time.Since(since[p.Name]) > stuckAfter {
					stuck = fmt.Errorf("pod %s of %s %s does not become ready: %s", p.Name, w.Kind(), w.Name, why)
					return true, "", nil
				}
			}
			if ready < int(w.Replicas) {
				waiting = append(waiting, fmt.Sprintf("%s %s: %d of %d pods ready", w.Kind(), w.Name, ready, w.Replicas))
			}
		}
		return len(waiting) == 0, strings.Join(waiting, "; "), nil
	})
	return errors.Join(err, stuck)
}

// owned reports whether a pod was made from a workload's template.
func owned(w app.Workload, p corev1.Pod) bool {
	for name, value := range w.Template.Labels {
		if p.Labels[name] != value {
			return false
		}
	}
	return len(p.OwnerReferences) > 0
}

func isReady(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// whyStuck is what keeps a pod from becoming ready if it does not pass by itself; empty: nothing is known to.
func (env *Environment) whyStuck(ctx context.Context, p corev1.Pod) string {
	if why := whyNotStarted(p); why != "" {
		return why
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if c.State.Waiting != nil && c.RestartCount >= crashes {
			return fmt.Sprintf("container %s was restarted %d times; its last lines:\n%s", c.Name, c.RestartCount, env.lastLines(ctx, p.Name, c.Name, true))
		}
	}
	return ""
}

// whyNotStarted is what keeps a pod from starting if it does not pass by itself; empty: nothing is known to.
func whyNotStarted(p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && slices.Contains(startErrors, w.Reason) {
			return fmt.Sprintf("container %s: %s: %s", c.Name, w.Reason, w.Message)
		}
	}
	return ""
}

// startErrors are the kubelet's reasons for a container that cannot start.
var startErrors = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// lastLines are the last lines that a container wrote; previous: that it wrote before its last restart.
func (env *Environment) lastLines(ctx context.Context, pod, container string, previous bool) string {
	lines := int64(10)
	text, err := env.client.CoreV1().Pods(env.namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &lines,
	}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
