package fault

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// controller is the workload under test as faults see it, be it a Deployment or a StatefulSet.
type controller struct {
	resourceVersion string
	replicas        int
	selector        *metav1.LabelSelector
	template        corev1.PodTemplateSpec
	caughtUp        bool // the controller has seen the newest generation
	updated         int  // pods of the newest revision
	available       int
	conditions      []string // Type=Status, sorted
}

// controller reads the workload under test.
func (t Target) controller(ctx context.Context) (controller, error) {
	if t.StatefulSet {
		s, err := t.Client.AppsV1().StatefulSets(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
		if err != nil {
			return controller{}, fmt.Errorf("read %s %s/%s: %w", t.kind(), t.Namespace, t.Workload, err)
		}
		return ofStatefulSet(s), nil
	}
	d, err := t.Client.AppsV1().Deployments(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
	if err != nil {
		return controller{}, fmt.Errorf("read %s %s/%s: %w", t.kind(), t.Namespace, t.Workload, err)
	}
	return ofDeployment(d), nil
}

// kind of the workload, in words.
func (t Target) kind() string {
	if t.StatefulSet {
		return "statefulset"
	}
	return "deployment"
}

func ofDeployment(d *appsv1.Deployment) controller {
	c := controller{
		resourceVersion: d.ResourceVersion, replicas: replicas(d.Spec.Replicas), selector: d.Spec.Selector,
		template: d.Spec.Template, caughtUp: d.Status.ObservedGeneration >= d.Generation,
		updated: int(d.Status.UpdatedReplicas), available: int(d.Status.AvailableReplicas),
	}
	for _, one := range d.Status.Conditions {
		c.conditions = append(c.conditions, fmt.Sprintf("%s=%s", one.Type, one.Status))
	}
	slices.Sort(c.conditions)
	return c
}

func ofStatefulSet(s *appsv1.StatefulSet) controller {
	return controller{
		resourceVersion: s.ResourceVersion, replicas: replicas(s.Spec.Replicas), selector: s.Spec.Selector,
		template: s.Spec.Template, caughtUp: s.Status.ObservedGeneration >= s.Generation,
		updated: int(s.Status.UpdatedReplicas), available: int(s.Status.AvailableReplicas),
	}
}

// replicas that are asked for; the API's default is one.
func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// patch changes the workload under test.
func (t Target) patch(ctx context.Context, how types.PatchType, patch string) error {
	var err error
	if t.StatefulSet {
		_, err = t.Client.AppsV1().StatefulSets(t.Namespace).Patch(ctx, t.Workload, how, []byte(patch), metav1.PatchOptions{})
	} else {
		_, err = t.Client.AppsV1().Deployments(t.Namespace).Patch(ctx, t.Workload, how, []byte(patch), metav1.PatchOptions{})
	}
	return err
}

// scaler is what both kinds offer for their subresource scale.
type scaler interface {
	GetScale(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

func (t Target) scaler() scaler {
	if t.StatefulSet {
		return t.Client.AppsV1().StatefulSets(t.Namespace)
	}
	return t.Client.AppsV1().Deployments(t.Namespace)
}
