package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// AutoscaleVertically hands what the workload's pods ask for to a VerticalPodAutoscaler, in its mode InPlaceOrRecreate. They
// must ask for less processor time than it recommends, which is never less than 25m by its own default. The undo removes
// it, and gives the pods back what their controller's template says.
//
// It needs the VerticalPodAutoscaler's recommender and updater, and a metrics-server.
//
// Source: https://github.com/kubernetes/autoscaler/blob/master/vertical-pod-autoscaler/docs/features.md#in-place-updates-inplaceorrecreate
type AutoscaleVertically struct{}

// verticalLimit bounds how long it may take until the first pod is resized: for metrics that are a minute old at most, a
// recommendation and a round of its updater, on a busy machine.
const verticalLimit = 5 * time.Minute

// verticalAutoscalers is the resource that client-go has no type for.
var verticalAutoscalers = schema.GroupVersionResource{Group: "autoscaling.k8s.io", Version: "v1", Resource: "verticalpodautoscalers"}

func (AutoscaleVertically) String() string { return "autoscale vertically, in place" }

// Plan implements Fault. The autoscaling was seen when the kubelets have given every pod more than its controller's template asks for,
// and the workload has settled.
func (AutoscaleVertically) Plan(ctx context.Context, t Target) (Disruption, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	was := cpuOf(d.Spec.Template.Spec)
	more := func(has resource.Quantity) bool { return has.Cmp(was) > 0 }
	if err := t.notGiven(ctx, fmt.Sprintf("autoscale %s vertically", t.Workload), more); err != nil {
		return nil, err
	}
	scalers := t.Dynamic.Resource(verticalAutoscalers).Namespace(t.Namespace)
	resized := map[string]corev1.Pod{}
	return Settling(&Effect{
		Ask: func(ctx context.Context) (bool, string, error) {
			_, err := scalers.Get(ctx, t.Workload, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return false, "the vertical autoscaler is gone", nil
			}
			if err != nil {
				return false, "", err
			}
			return t.given(ctx, resized, more)
		},
		Undo: func(ctx context.Context) error {
			if err := scalers.Delete(ctx, t.Workload, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("remove the vertical autoscaler of %s: %w", t.Workload, err)
			}
			return t.resize(ctx, was)
		},
		Restore: func(ctx context.Context) (string, error) {
			saw, err := t.sizedTo(ctx, was)
			return "the vertical autoscaler is gone; " + saw, err
		},
	}, func(ctx context.Context) (seen Observation, err error) {
		if _, err := scalers.Create(ctx, t.verticalAutoscaler(), metav1.CreateOptions{}); err != nil {
			return seen, fmt.Errorf("autoscale %s vertically: %w", t.Workload, err)
		}
		if err := t.firstResized(ctx, was, more); err != nil {
			return seen, errors.Join(err, t.unrecommended(ctx, scalers))
		}
		seen.Witness, err = t.sized(ctx, "all pods of "+t.Workload+" to have more than "+was.String()+" of processor time", more)
		if err != nil {
			return seen, err
		}
		resized, err = t.pods(ctx)
		seen.Pods = slices.Sorted(maps.Keys(resized))
		return seen, err
	}), nil
}

// firstResized waits until the autoscaler has resized a pod.
func (t Target) firstResized(ctx context.Context, was resource.Quantity, more func(resource.Quantity) bool) error {
	return poll.Until(ctx, "the vertical autoscaler to resize a pod of "+t.Workload, verticalLimit, func(ctx context.Context) (bool, string, error) {
		pods, err := t.pods(ctx)
		for _, pod := range pods {
			if cpu, given := cpuGiven(pod); given && more(cpu) {
				return true, "", nil
			}
		}
		return false, "each has at most " + was.String(), err
	})
}

// unrecommended is an error that names what is missing for a resize, as far as the autoscaler knows.
func (t Target) unrecommended(ctx context.Context, scalers dynamic.ResourceInterface) error {
	scaler, err := scalers.Get(ctx, t.Workload, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if _, found, _ := unstructured.NestedMap(scaler.Object, "status", "recommendation"); !found {
		return errors.New("it has no recommendation yet: see whether metrics-server and the recommender work")
	}
	return errors.New("it has a recommendation: see why the updater does not follow it")
}

// verticalAutoscaler of the workload, with its name.
func (t Target) verticalAutoscaler() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"targetRef":    map[string]any{"apiVersion": "apps/v1", "kind": t.apiKind(), "name": t.Workload},
		"updatePolicy": map[string]any{"updateMode": "InPlaceOrRecreate"},
		"resourcePolicy": map[string]any{"containerPolicies": []any{map[string]any{
			"containerName": "*", "controlledResources": []any{"cpu"}, "controlledValues": "RequestsOnly",
		}}},
	}}}
	o.SetAPIVersion(verticalAutoscalers.GroupVersion().String())
	o.SetKind("VerticalPodAutoscaler")
	o.SetNamespace(t.Namespace)
	o.SetName(t.Workload)
	return o
}
