package deploy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// crashes is how many restarts of a container show that it does not start.
const crashes = 3

// WhyStuck is what keeps a pod from becoming ready if it does not pass by itself; empty: nothing is known to.
func WhyStuck(ctx context.Context, client kubernetes.Interface, p corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	for _, c := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		switch w := c.State.Waiting; {
		case w == nil:
			continue
		case slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"}, w.Reason):
			return fmt.Sprintf("container %s: %s: %s", c.Name, w.Reason, w.Message)
		case c.RestartCount >= crashes:
			return fmt.Sprintf("container %s was restarted %d times; its last lines:\n%s", c.Name, c.RestartCount, lastLines(ctx, client, p, c.Name, true))
		}
	}
	return ""
}

// lines is how many lines of a container an error has.
const lines = 10

// lastLines are the last lines that a container wrote; previous: before it was restarted.
func lastLines(ctx context.Context, client kubernetes.Interface, p corev1.Pod, container string, previous bool) string {
	most := int64(lines)
	text, err := client.CoreV1().Pods(p.Namespace).GetLogs(p.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &most,
	}).DoRaw(ctx)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

// stuckPod is the first pod of an object that does not start, and why; empty: there is none.
func (d *Deployment) stuckPod(ctx context.Context, o *unstructured.Unstructured) (pod, why string, err error) {
	list, err := d.podsOf(ctx, o)
	if err != nil {
		return "", "", err
	}
	for _, p := range list {
		if why := WhyStuck(ctx, d.Client, p); why != "" {
			return p.Name, why, nil
		}
	}
	return "", "", nil
}

// podsOf are the pods of an object: itself, or those that its selector selects.
func (d *Deployment) podsOf(ctx context.Context, o *unstructured.Unstructured) ([]corev1.Pod, error) {
	pods := d.Client.CoreV1().Pods(o.GetNamespace())
	if o.GroupVersionKind().GroupKind().String() == "Pod" {
		p, err := pods.Get(ctx, o.GetName(), metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return []corev1.Pod{*p}, nil
	}
	if !slices.Contains([]string{"apps", "batch"}, o.GroupVersionKind().Group) { // a selector means something else elsewhere
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
	return list.Items, nil
}
