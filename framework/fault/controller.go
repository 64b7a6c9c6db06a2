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

const (
	statefulSet = "StatefulSet"
	daemonSet   = "DaemonSet"
)

// deployment reads the workload under test. A StatefulSet or DaemonSet is read as the Deployment that says the same: what faults ask
// for (replicas, selector, template, and how much of it there is) has the same meanings in all.
func (t Target) deployment(ctx context.Context) (d *appsv1.Deployment, err error) {
	apps := t.Client.AppsV1()
	switch t.Kind {
	case statefulSet:
		var s *appsv1.StatefulSet
		if s, err = apps.StatefulSets(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{}); err == nil {
			d = asDeployment(s)
		}
	case daemonSet:
		var s *appsv1.DaemonSet
		if s, err = apps.DaemonSets(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{}); err == nil {
			d = onEachNode(s)
		}
	default:
		d, err = apps.Deployments(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", t.kind(), t.Namespace, t.Workload, err)
	}
	return d, nil
}

// onEachNode is a DaemonSet as a Deployment. Its replicas are not in its spec: they are the nodes that its controller counts.
func onEachNode(s *appsv1.DaemonSet) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: s.ObjectMeta,
		Spec:       appsv1.DeploymentSpec{Replicas: &s.Status.DesiredNumberScheduled, Selector: s.Spec.Selector, Template: s.Spec.Template},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: s.Status.ObservedGeneration, Replicas: s.Status.CurrentNumberScheduled + s.Status.NumberMisscheduled,
			UpdatedReplicas: s.Status.UpdatedNumberScheduled, ReadyReplicas: s.Status.NumberReady, AvailableReplicas: s.Status.NumberAvailable,
		},
	}
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
	if t.Kind != "" {
		return t.Kind
	}
	return "Deployment"
}

// kind of the workload, in words.
func (t Target) kind() string { return strings.ToLower(t.apiKind()) }

// patch changes the workload under test.
func (t Target) patch(ctx context.Context, how types.PatchType, patch string) (err error) {
	apps := t.Client.AppsV1()
	switch t.Kind {
	case statefulSet:
		_, err = apps.StatefulSets(t.Namespace).Patch(ctx, t.Workload, how, []byte(patch), metav1.PatchOptions{})
	case daemonSet:
		_, err = apps.DaemonSets(t.Namespace).Patch(ctx, t.Workload, how, []byte(patch), metav1.PatchOptions{})
	default:
		_, err = apps.Deployments(t.Namespace).Patch(ctx, t.Workload, how, []byte(patch), metav1.PatchOptions{})
	}
	return err
}

// scaler is what Deployments and StatefulSets offer for their subresource scale.
type scaler interface {
	GetScale(context.Context, string, metav1.GetOptions) (*autoscalingv1.Scale, error)
	UpdateScale(context.Context, string, *autoscalingv1.Scale, metav1.UpdateOptions) (*autoscalingv1.Scale, error)
}

func (t Target) scaler() scaler {
	if t.Kind == statefulSet {
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
