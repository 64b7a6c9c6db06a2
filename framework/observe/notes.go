package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Notes are Kubernetes' Events of a namespace, or those about objects of one name in it.
func Notes(ctx context.Context, client kubernetes.Interface, namespace, object string) ([]corev1.Event, error) {
	var only metav1.ListOptions
	if object != "" {
		only.FieldSelector = "involvedObject.name=" + object
	}
	list, err := client.CoreV1().Events(namespace).List(ctx, only)
	if err != nil {
		return nil, fmt.Errorf("list events of %s/%s: %w", namespace, object, err)
	}
	return list.Items, nil
}
