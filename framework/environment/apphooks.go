package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// afterInstall runs the hooks that follow the installation of a chart. Its workloads are ready.
func (env *Environment) afterInstall(ctx context.Context) error {
	a, err := env.applier()
	if err != nil {
		return err
	}
	return a.create(ctx, app.AfterInstall)
}

// create creates the objects of some stages. A hook is done before the next object is created, as with Helm.
func (a applier) create(ctx context.Context, stages ...app.Stage) error {
	for _, stage := range stages {
		list := a.env.Spec.App.At(stage)
		for _, m := range list {
			if err := a.createOne(ctx, m); err != nil {
				return err
			}
		}
		for _, m := range slices.Backward(list) {
			if m.IsHook() && m.Hook().DeleteSucceeded {
				if err := a.remove(ctx, m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (a applier) createOne(ctx context.Context, m app.Manifest) error {
	if m.IsHook() && runsOnce(m) { // it may have run in an earlier stage
		if err := a.remove(ctx, m); err != nil {
			return err
		}
	}
	if err := a.apply(ctx, m); err != nil {
		return fmt.Errorf("create %s: %w", m, err)
	}
	if !m.IsHook() || !runsOnce(m) {
		return nil
	}
	return a.env.hookDone(ctx, m)
}

// runsOnce reports whether an object does its work once. All other hooks are done when they are created.
func runsOnce(m app.Manifest) bool {
	kind := m.Object.GroupVersionKind().GroupKind().String()
	return kind == "Job.batch" || kind == "Pod"
}

// remove deletes a hook with its pods, and returns when it is gone. One that has no namespace is removed with the scenario.
func (a applier) remove(ctx context.Context, m app.Manifest) error {
	client, namespaced, err := a.client(m)
	if err != nil {
		return fmt.Errorf("remove %s: %w", m, err)
	}
	if !namespaced {
		return nil
	}
	foreground := metav1.DeletePropagationForeground
	return poll.Until(ctx, m.String()+" to be gone", clearLimit, func(ctx context.Context) (bool, string, error) {
		err := client.Delete(ctx, m.Object.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "still there", err
	})
}

// hookWait is the wait for one hook.
type hookWait struct {
	env   *Environment
	name  string
	job   bool
	read  map[string]bool      // containers whose last lines were read, by their IDs
	lines string               // the last lines of the container that failed last
	since map[string]time.Time // when a pod was first seen stuck
}

// hookDone waits until a Job is complete or a Pod has succeeded. A hook that fails ends the wait, with what it wrote.
func (env *Environment) hookDone(ctx context.Context, m app.Manifest) error {
	w := hookWait{env: env, name: m.Object.GetName(), job: m.Object.GetKind() == "Job", read: map[string]bool{}, since: map[string]time.Time{}}
	event := map[app.Stage]string{app.BeforeInstall: chart.PreInstall, app.AfterInstall: chart.PostInstall}[m.Stage]
	failure := ""
	err := poll.Until(ctx, "hook "+m.String()+" to complete", appLimit, func(ctx context.Context) (done bool, saw string, err error) {
		done, failure, saw, err = w.look(ctx)
		return done, saw, err
	})
	switch {
	case ctx.Err() != nil:
		return err
	case err != nil:
		failure = err.Error()
	case failure == "":
		return nil
	}
	if w.lines != "" {
		failure += "\n" + w.lines
	}
	return fmt.Errorf("the %s hook %s failed: %s\nmend the hook or what it needs, or leave it out with the values of the chart", event, m, failure)
}

// look looks at the hook once. It is done when it has succeeded, or when failure says why it has not.
func (w *hookWait) look(ctx context.Context) (done bool, failure, saw string, err error) {
	pods, err := w.pods(ctx)
	if err != nil {
		return false, "", "", err
	}
	for _, p := range pods { // before the Job is asked: one that has failed loses its pods
		w.readLines(ctx, p)
	}
	if w.job {
		done, failure, saw, err = w.lookAtJob(ctx)
	} else {
		done, failure, saw = lookAtPod(pods[0])
	}
	if err != nil || done {
		return done, failure, saw, err
	}
	stuck := w.stuck(pods)
	return stuck != "", stuck, saw, nil
}

// pods are the hook, or the pods of the Job.
func (w *hookWait) pods(ctx context.Context) ([]corev1.Pod, error) {
	pods := w.env.client.CoreV1().Pods(w.env.namespace)
	if !w.job {
		p, err := pods.Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []corev1.Pod{*p}, nil
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + w.name})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (w *hookWait) lookAtJob(ctx context.Context) (done bool, failure, saw string, err error) {
	job, err := w.env.client.BatchV1().Jobs(w.env.namespace).Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return false, "", "", err
	}
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return true, "", "", nil
		case c.Type == batchv1.JobFailed:
			return true, cmp.Or(c.Message, c.Reason, "its pods failed"), "", nil
		}
	}
	return false, "", fmt.Sprintf("%d pods active, %d succeeded, %d failed", job.Status.Active, job.Status.Succeeded, job.Status.Failed), nil
}

func lookAtPod(p corev1.Pod) (done bool, failure, saw string) {
	switch p.Status.Phase {
	case corev1.PodSucceeded:
		return true, "", ""
	case corev1.PodFailed:
		return true, cmp.Or(p.Status.Message, p.Status.Reason, "its containers failed"), ""
	}
	return false, "", string(p.Status.Phase)
}

// readLines reads what the containers of a pod wrote before they failed, once each.
func (w *hookWait) readLines(ctx context.Context, p corev1.Pod) {
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		ended, previous := c.State.Terminated, false
		if ended == nil {
			ended, previous = c.LastTerminationState.Terminated, true
		}
		if ended == nil || ended.ExitCode == 0 || w.read[ended.ContainerID] {
			continue
		}
		w.read[ended.ContainerID] = true
		w.lines = fmt.Sprintf("container %s of pod %s ended with exit code %d; its last lines:\n%s",
			c.Name, p.Name, ended.ExitCode, w.env.lastLines(ctx, p.Name, c.Name, previous))
	}
}

// stuck is why a pod has not started for some time; empty: none is stuck.
func (w *hookWait) stuck(pods []corev1.Pod) string {
	for _, p := range pods {
		why := whyNotStarted(p)
		if why == "" {
			delete(w.since, p.Name)
			continue
		}
		if _, known := w.since[p.Name]; !known {
			w.since[p.Name] = time.Now()
		}
		if time.Since(w.since[p.Name]) > stuckAfter {
			return fmt.Sprintf("pod %s does not start: %s", p.Name, why)
		}
	}
	return ""
}
