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

	"github.com/holdfast-ha/holdfast/framework/poll"
)

// emptyLimit bounds EmptyNamespace. Measured on two cores: 8 s.
const emptyLimit = 2 * time.Minute

// Each pod beyond manyPods, which only simulated nodes have, adds perPod to emptyLimit. Measured on two cores with 5,000 nodes: 36 ms.
const (
	manyPods = 500
	perPod   = 100 * time.Millisecond
)

// EmptyNamespace deletes a namespace and returns when its pods and Services are gone: the next scenario may need their CPU
// and node ports. It does not wait for the namespace itself, which Kubernetes keeps for at least 5 s. It deletes only the
// namespace with this UID, and leaves a newer one of the same name alone.
//
// Source: namespaceDeletionGracePeriod in k8s.io/kubernetes/pkg/controller/namespace
func EmptyNamespace(ctx context.Context, client kubernetes.Interface, n *corev1.Namespace) error {
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &n.UID}}
	err := client.CoreV1().Namespaces().Delete(ctx, n.Name, only)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("delete namespace %s: %w", n.Name, err)
	}
	_, pods, err := contents(ctx, client, n.Name)
	if err != nil {
		return fmt.Errorf("count what is in namespace %s: %w", n.Name, err)
	}
	limit := emptyLimit + time.Duration(max(0, pods-manyPods))*perPod
	return poll.Until(ctx, "namespace "+n.Name+" to be empty", limit, func(ctx context.Context) (bool, string, error) {
		return deleteContents(ctx, client, n.Name)
	})
}

// deleteContents deletes the remaining pods and Services of a namespace, and returns true if nothing is left. It checks again
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
	atOnce := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	errs = append(errs, client.CoreV1().Pods(namespace).DeleteCollection(ctx, atOnce, metav1.ListOptions{}))
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
	all, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	return services, len(all.Items), nil
}
