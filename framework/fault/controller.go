package fault

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deployment reads the workload under test. A StatefulSet is read as the Deployment that says the same: what faults ask
// for (replicas, selector, template, and how much of it there is) has the same names and meanings in both.
func (t Target) deployment(ctx context.Context) (*appsv1.Deployment, error) {
	if t.StatefulSet {
		s, err := t.Client.AppsV1().StatefulSets(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read statefulset %s/%s: %w", t.Namespace, t.Workload, err)
		}
		return asDeployment(s), nil
	}
	d, err := t.Client.AppsV1().Deployments(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read deployment %s/%s: %w", t.Namespace, t.Workload, err)
	}
	return d, nil
}

func asDeployment(s *appsv1.StatefulSet) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: s.ObjectMeta,
		Spec:       appsv1.DeploymentSpec{Replicas: s.Spec.Replicas, Selector: s.Spec.Selector, Template: s.Spec.Template},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: s.Status.ObservedGeneration, Replicas: s.Status.Replicas, UpdatedReplicas: s.Status.UpdatedReplicas,
			ReadyReplicas: s.Status.ReadyReplicas, AvailableReplicas: s.Status.AvailableReplicas,
		},
	}
}

// apiKind of the workload, as the API spells it.
func (t Target) apiKind() string {
	if t.StatefulSet {
		return "StatefulSet"
	}
	return "Deployment"
}

// kind of the workload, in words.
func (t Target) kind() string { return strings.ToLower(t.apiKind()) }

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

// asLongAs asks of the controller and its pods whether a fault is still in force.
func (t Target) asLongAs(holds func(*appsv1.Deployment, map[string]corev1.Pod) (bool, string)) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		d, err := t.deployment(ctx)
		if err != nil {
			return false, "", err
		}
		pods, err := t.pods(ctx)
		if err != nil {
			return false, "", err
		}
		still, saw := holds(d, pods)
		return still, saw, nil
	}
}
