package healer

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// readyLimit bounds how long the pods of a healer may take to be ready: a node may have to pull the image.
const readyLimit = 3 * time.Minute

// Install creates a healer in holdfast's own namespace, and returns when both of its pods are ready: before that, nothing should be changed that it is
// to undo. What was created is removed again if that fails. A healer of another run is an error.
func Install(ctx context.Context, client kubernetes.Interface, h workloads.Healer, at workloads.Place) error {
	objects, err := h.Objects(at)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err = create(ctx, client, o); err != nil {
			break
		}
	}
	if err == nil {
		err = awaitReady(ctx, client, at.Namespace)
	}
	if err != nil {
		_, left := Remove(context.WithoutCancel(ctx), client, at.Namespace, h.Run)
		return errors.Join(fmt.Errorf("install the healer: %w", err), left)
	}
	return nil
}

func create(ctx context.Context, client kubernetes.Interface, o workloads.Object) (err error) {
	options := metav1.CreateOptions{FieldManager: "holdfast"}
	switch o := o.(type) {
	case *appsv1.Deployment:
		_, err = client.AppsV1().Deployments(o.Namespace).Create(ctx, o, options)
	case *policyv1.PodDisruptionBudget:
		_, err = client.PolicyV1().PodDisruptionBudgets(o.Namespace).Create(ctx, o, options)
	default:
		err = errors.New("no healer consists of it")
	}
	if apierrors.IsAlreadyExists(err) {
		err = fmt.Errorf("%w: an earlier run has left it, which 'holdfast heal --context' removes", err)
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), err)
	}
	return nil
}

func awaitReady(ctx context.Context, client kubernetes.Interface, namespace string) error {
	err := poll.Until(ctx, "both pods of the healer to be ready", readyLimit, func(ctx context.Context) (bool, string, error) {
		ready, of, err := Ready(ctx, client, namespace)
		return err == nil && ready == of, fmt.Sprintf("%d of %d ready", ready, of), err
	})
	if err != nil {
		err = fmt.Errorf("%w; a healer is ready only with the rights that 'holdfast rbac' prints for these faults, and 'kubectl -n %s logs deployment/%s' says which it lacks",
			err, namespace, workloads.HealerName)
	}
	return err
}

// Ready is how many pods of the healer are ready, and how many there should be.
func Ready(ctx context.Context, client kubernetes.Interface, namespace string) (ready, of int32, err error) {
	d, err := client.AppsV1().Deployments(namespace).Get(ctx, workloads.HealerName, metav1.GetOptions{})
	if err != nil {
		return 0, 0, fmt.Errorf("look whether the healer is ready: %w", err)
	}
	if d.Status.ObservedGeneration >= d.Generation {
		ready = d.Status.ReadyReplicas
	}
	return ready, *d.Spec.Replicas, nil
}

// Remove removes the healer of a run, or with an empty name that of any run. Only what carries the labels of a healer is removed. It is no error if
// there is none, or if this user must not look for it.
func Remove(ctx context.Context, client kubernetes.Interface, namespace, run string) (removed []string, err error) {
	deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, workloads.HealerName, metav1.GetOptions{})
	gone, err := remove(ctx, "Deployment", deployment, err, run, client.AppsV1().Deployments(namespace).Delete)
	budget, alsoErr := client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, workloads.HealerName, metav1.GetOptions{})
	alsoGone, alsoErr := remove(ctx, "PodDisruptionBudget", budget, alsoErr, run, client.PolicyV1().PodDisruptionBudgets(namespace).Delete)
	return append(gone, alsoGone...), errors.Join(err, alsoErr)
}

// Installed reports whether there is a healer, or a part of one: a run may be killed while it installs it. A user who must not look for it has none.
func Installed(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	deployment, err := client.AppsV1().Deployments(namespace).Get(ctx, workloads.HealerName, metav1.GetOptions{})
	budget, alsoErr := client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, workloads.HealerName, metav1.GetOptions{})
	for _, one := range []struct {
		object metav1.Object
		err    error
	}{{deployment, err}, {budget, alsoErr}} {
		switch {
		case one.err == nil && ofHealer(one.object, ""):
			return true, nil
		case one.err != nil && !apierrors.IsNotFound(one.err) && !apierrors.IsForbidden(one.err):
			return false, fmt.Errorf("look for a healer: %w", one.err)
		}
	}
	return false, nil
}

// ofHealer reports whether an object is of the healer of a run, or of any run.
func ofHealer(o metav1.Object, run string) bool {
	l := o.GetLabels()
	return l[workloads.LabelPartOf] == workloads.PartOf && l[workloads.LabelComponent] == workloads.ComponentHealer && (run == "" || l[workloads.LabelRun] == run)
}

// remove removes exactly the object that was read.
func remove(ctx context.Context, kind string, o metav1.Object, readErr error, run string, del func(context.Context, string, metav1.DeleteOptions) error) ([]string, error) {
	switch {
	case apierrors.IsNotFound(readErr), apierrors.IsForbidden(readErr), readErr == nil && !ofHealer(o, run):
		return nil, nil
	case readErr != nil:
		return nil, fmt.Errorf("remove the healer: look for its %s: %w", kind, readErr)
	}
	uid := o.GetUID()
	err := del(ctx, o.GetName(), metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: new(metav1.DeletePropagationBackground),
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("remove the healer: delete %s %s: %w", kind, o.GetName(), err)
	}
	return []string{kind + " " + o.GetName()}, nil
}
