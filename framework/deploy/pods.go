package deploy

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// lines is how many lines of a container an error has.
const lines = 10

// lastLines are the last lines that a container wrote; previous: before it was restarted.
func lastLines(ctx context.Context, client kubernetes.Interface, namespace, pod, container string, previous bool) string {
	most := int64(lines)
	text, err := client.CoreV1().Pods(namespace).GetLogs(pod, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &most,
	}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// hasPods reports whether an object is of a kind whose controller, which is Kubernetes' own, creates pods.
func hasPods(o *unstructured.Unstructured) bool {
	return slices.Contains([]string{"apps", "batch"}, o.GroupVersionKind().Group)
}

// podsOf are the pods of an object: itself, or those that its selector selects and that are not of another one.
func (d *Deployment) podsOf(ctx context.Context, o *unstructured.Unstructured) ([]corev1.Pod, error) {
	pods := d.Client.CoreV1().Pods(o.GetNamespace())
	if o.GroupVersionKind().GroupKind().String() == "Pod" {
		p, err := pods.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []corev1.Pod{*p}, nil
	}
	if !hasPods(o) { // a selector means something else elsewhere
		return nil, nil
	}
	match, _, _ := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	if len(match) == 0 {
		return nil, nil
	}
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: labels.FormatLabels(match)})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		by := metav1.GetControllerOfNoCopy(&p)
		return by != nil && history.OwnerOf(by.Kind, by.Name).Top(p.Labels) != history.OwnerOf(o.GetKind(), o.GetName())
	}), nil
}
