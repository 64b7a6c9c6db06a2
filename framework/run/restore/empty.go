package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// emptyLimit bounds each of the two waits of EmptyNamespace. Measured on two cores: 8 s for both.
const emptyLimit = 2 * time.Minute

// Each pod beyond manyPods, which only simulated nodes have, adds perPod to emptyLimit. Measured on two cores with 5,000 nodes: 3 to 17 ms.
const (
	manyPods = 500
	perPod   = 100 * time.Millisecond
)

// atOnce is the number of pods that one request deletes: two cores delete them in 6 to 34 s, and the API server ends a request after a minute.
const atOnce = 2000

// EmptyNamespace deletes a namespace and returns when its pods and Services are gone: the next scenario may need their CPU
// and node ports. It does not wait for the namespace itself, which Kubernetes keeps for at least 5 s. It deletes only the
// namespace with this UID, and leaves a newer one of the same name alone.
//
// Source: namespaceDeletionGracePeriod in k8s.io/kubernetes/pkg/controller/namespace
func EmptyNamespace(ctx context.Context, client kubernetes.Interface, n *corev1.Namespace) error {
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}}
	pods, gone := 0, false
	var refused error // for good; after a conflict the namespace of this name is another one
	err := poll.Until(ctx, "the deletion of namespace "+n.Name+" to begin", emptyLimit, func(ctx context.Context) (bool, string, error) {
		err := client.CoreV1().Namespaces().Delete(ctx, n.Name, only)
		switch {
		case apierrors.IsNotFound(err):
			gone = true
			return true, "", nil
		case apierrors.IsConflict(err), apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			refused = fmt.Errorf("delete namespace %s: %w", n.Name, err)
			return true, "", nil
		case err != nil:
			return false, "", fmt.Errorf("delete namespace %s: %w", n.Name, err)
		}
		_, pods, err = contents(ctx, client, n.Name)
		return err == nil, "", err
	})
	if err != nil || gone || refused != nil {
		return errors.Join(err, refused)
	}
	controlled := pods > manyPods // and the controllers exist
	limit := emptyLimit + time.Duration(max(0, pods-manyPods))*perPod
	return poll.Until(ctx, "namespace "+n.Name+" to be empty", limit, func(ctx context.Context) (bool, string, error) {
		if controlled {
			if err := deleteControllers(ctx, client, n.Name); err != nil {
				return false, "", err
			}
			controlled = false
		}
		return deleteContents(ctx, client, n.Name)
	})
}

// deleteControllers deletes the Deployments and ReplicaSets, which would try to replace each deleted pod. The API server would refuse these
// attempts, because the namespace is being deleted, and the deletion of many pods would take ten times as long.
func deleteControllers(ctx context.Context, client kubernetes.Interface, namespace string) error {
	background := metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	err := errors.Join(
		client.AppsV1().Deployments(namespace).DeleteCollection(ctx, background, metav1.ListOptions{}),
		client.AppsV1().ReplicaSets(namespace).DeleteCollection(ctx, background, metav1.ListOptions{}),
	)
	if err != nil {
		return fmt.Errorf("delete the Deployments and ReplicaSets of namespace %s: %w", namespace, err)
	}
	return nil
}

// deleteContents deletes the Services and at most atOnce pods of a namespace, and returns true if nothing is left. It checks again
// right after the deletion, because pods with a grace period of zero are gone when the call returns.
func deleteContents(ctx context.Context, client kubernetes.Interface, namespace string) (done bool, saw string, err error) {
	services, pods, err := contents(ctx, client, namespace)
	if err != nil || len(services)+pods == 0 {
		return err == nil, "", err
	}
	var errs []error
	for _, name := range services {
		if err := client.CoreV1().Services(namespace).Delete(ctx, name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			errs = append(errs, err)
		}
	}
	noGrace := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	errs = append(errs, client.CoreV1().Pods(namespace).DeleteCollection(ctx, noGrace, metav1.ListOptions{Limit: atOnce}))
	services, pods, err = contents(ctx, client, namespace)
	if err != nil { // then what is left is unknown
		return false, "", errors.Join(append(errs, err)...)
	}
	return len(services)+pods == 0, fmt.Sprintf("%d pods, %d Services", pods, len(services)), errors.Join(errs...)
}

// contents names the Services of a namespace, and counts its pods.
func contents(ctx context.Context, client kubernetes.Interface, namespace string) (services []string, pods int, err error) {
	list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	for _, s := range list.Items {
		services = append(services, s.Name)
	}
	some, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, 0, err
	}
	pods = len(some.Items)
	if further := some.RemainingItemCount; further != nil {
		pods += int(*further)
	}
	return services, pods, nil
}
