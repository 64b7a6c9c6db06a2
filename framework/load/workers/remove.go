package workers

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// removeLimit is how long load workers may take to be gone.
const removeLimit = 2 * time.Minute

// Left reports whether a namespace has load workers. A user who must not look for them sees none.
func Left(ctx context.Context, client kubernetes.Interface, namespace string) (bool, error) {
	job, err := get(ctx, client, namespace)
	return job != nil, err
}

// Remove removes the load workers of a namespace, and returns when they are gone. What has their name and is not theirs stays.
func Remove(ctx context.Context, client kubernetes.Interface, namespace string) error {
	job, err := get(ctx, client, namespace)
	if err != nil || job == nil {
		return err
	}
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &job.UID}, PropagationPolicy: new(metav1.DeletePropagationForeground)}
	if err := client.BatchV1().Jobs(namespace).Delete(ctx, job.Name, only); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the load workers: %w", err)
	}
	return poll.Until(ctx, "the load workers to be gone", removeLimit, func(ctx context.Context) (bool, string, error) {
		now, err := client.BatchV1().Jobs(namespace).Get(ctx, job.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && now.UID != job.UID {
			return true, "", nil
		}
		return false, "the Job is being deleted", err
	})
}

// get is the Job of load workers; nil: there is none, or this user must not see it.
func get(ctx context.Context, client kubernetes.Interface, namespace string) (*batchv1.Job, error) {
	job, err := client.BatchV1().Jobs(namespace).Get(ctx, workloads.LoadName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for load workers: %w", err)
	}
	if job.Labels[workloads.LabelPartOf] != workloads.PartOf || job.Labels[workloads.LabelComponent] != workloads.ComponentLoad {
		return nil, nil
	}
	return job, nil
}
