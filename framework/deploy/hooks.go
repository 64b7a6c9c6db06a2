package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// nextOfHook is what a user can do about a hook that fails.
const nextOfHook = "correct the chart or its values, or leave the hook out of the manifests of the test"

// run runs the hooks of a moment one after the other, as Helm does: what is no Job and no Pod is created, and nothing more is awaited of it.
// Those that are to be removed when they have succeeded are removed when all have.
func (d *Deployment) run(ctx context.Context, moment string, hooks []app.Hook) error {
	for _, h := range hooks {
		d.Say(fmt.Sprintf("%s hook %s %s", moment, h.Object.GetKind(), h.Object.GetName()))
		if !h.Keep {
			if err := d.remove(ctx, h.Manifest); err != nil {
				return fmt.Errorf("replace %s hook %s: %w", moment, h, err)
			}
		}
		if err := d.apply(ctx, h.Manifest); err != nil {
			return fmt.Errorf("create %s hook %s: %w", moment, h, err)
		}
		if err := d.ends(ctx, h); err != nil {
			return fmt.Errorf("%s hook %s: %w: %s", moment, h, err, nextOfHook)
		}
	}
	for _, h := range hooks {
		if !h.DeleteSucceeded {
			continue
		}
		if err := d.remove(ctx, h.Manifest); err != nil {
			return fmt.Errorf("remove %s hook %s: %w", moment, h, err)
		}
	}
	return nil
}

// ends waits until a Job or a Pod has succeeded.
func (d *Deployment) ends(ctx context.Context, h app.Hook) error {
	kind := h.Object.GroupVersionKind().GroupKind().String()
	if kind != "Job.batch" && kind != "Pod" {
		return nil
	}
	var failed error
	err := poll.Until(ctx, "it to end", limit, func(ctx context.Context) (bool, string, error) {
		client, _, err := d.client(h.Manifest)
		if err != nil {
			return false, "", err
		}
		o, err := client.Get(ctx, h.Object.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			failed = errors.New(vanished.why)
			return true, "", nil
		}
		if err != nil {
			return false, "", err
		}
		s := jobState(o)
		if kind == "Pod" {
			s = podState(o)
		}
		if s.ready {
			return true, "", nil
		}
		if s.final {
			failed = errors.New(s.why + d.lastWords(ctx, o))
			return true, "", nil
		}
		h, _, err := d.hindrance(ctx, o)
		if err == nil && h.how != lasting { // what hinders it may pass when the application is ready
			err = d.lookAt(ctx, d.beside)
		}
		if err != nil {
			return false, s.why, err
		}
		s, err = d.follow(ctx, o, s)
		if s.final {
			failed = errors.New(s.why)
		}
		return s.final, s.why, err
	})
	return errors.Join(err, failed)
}

// lookAt takes in how far objects have come.
func (d *Deployment) lookAt(ctx context.Context, objects []app.Manifest) error {
	for _, m := range objects {
		if _, err := d.look(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// podState is ready when a Pod has succeeded.
func podState(o *unstructured.Unstructured) state {
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	message, _, _ := unstructured.NestedString(o.Object, "status", "message")
	why := "its phase is " + phase
	if phase == string(corev1.PodFailed) {
		why = strings.Trim("it failed: "+message, ": ")
	}
	return state{ready: phase == string(corev1.PodSucceeded), why: why, final: phase == string(corev1.PodFailed)}
}

// lastWords are the last lines of the container of an object that failed last.
func (d *Deployment) lastWords(ctx context.Context, o *unstructured.Unstructured) string {
	list, err := d.podsOf(ctx, o)
	if err != nil {
		return "; its pods cannot be listed: " + err.Error()
	}
	var (
		ended time.Time
		words string
	)
	for _, p := range list {
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			end := c.State.Terminated
			if end == nil || end.ExitCode == 0 || end.FinishedAt.Time.Before(ended) {
				continue
			}
			ended = end.FinishedAt.Time
			words = fmt.Sprintf("; container %s of pod %s ended with exit code %d; its last lines:\n%s\n", c.Name, p.Name, end.ExitCode, lastLines(ctx, d.Client, p.Namespace, p.Name, c.Name, false))
		}
	}
	if words == "" {
		return "; none of its pods is left to say why"
	}
	return words
}

// remove deletes an object that is ours, with its pods, and returns when it is gone.
func (d *Deployment) remove(ctx context.Context, m app.Manifest) error {
	var refused error
	background := metav1.DeletePropagationBackground
	err := poll.Until(ctx, m.Object.GetKind()+" "+m.Object.GetName()+" to be gone", applyLimit, func(ctx context.Context) (bool, string, error) {
		client, own, err := d.client(m)
		if err != nil {
			return false, "", err
		}
		there, err := client.Get(ctx, m.Object.GetName(), metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return true, "", nil
		case err != nil:
			return false, "", err
		case !own && there.GetLabels()[workloads.LabelPartOf] != workloads.PartOf:
			refused = errForeign
			return true, "", nil
		}
		err = client.Delete(ctx, m.Object.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return false, "still there", err
	})
	return errors.Join(err, refused)
}
