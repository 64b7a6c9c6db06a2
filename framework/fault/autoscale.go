package fault

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// Autoscale hands the number of replicas to a HorizontalPodAutoscaler, which is to keep what the pods use of processor
// time at CPU per cent of what they ask for, with at most Max replicas and no fewer than there are. The load must need
// more than these at that rate, and then it scales up. The undo lets each use so much more that they do again, waits until it has
// scaled down, and removes it.
//
// It needs a metrics-server.
//
// Source: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/
type Autoscale struct {
	CPU, Max int
}

const (
	// scalingLimit bounds how long the autoscaler may take to begin, either way. It reads metrics a minute old at most, asks
	// every 15 s, and believes no pod in its first half minute.
	scalingLimit = 4 * time.Minute
	// stabilization is how long the autoscaler looks back for a reason not to scale down. Its default, 5 min, is for loads that
	// come and go; the undo would last as long.
	stabilization = 15 * time.Second
)

func (a Autoscale) String() string {
	return fmt.Sprintf("autoscale at %d %% of processor time, up to %d replicas", a.CPU, a.Max)
}

// Plan implements Fault. The autoscaling was seen when there are more replicas, for which not we have asked the workload's controller,
// and the workload has settled with them.
func (a Autoscale) Plan(ctx context.Context, t Target) (Disruption, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	least := int(*d.Spec.Replicas)
	asks := cpuOf(d.Spec.Template.Spec)
	switch {
	case asks.IsZero():
		return nil, fmt.Errorf("autoscale %s: its pods ask for no processor time to use a share of", t.Workload)
	case a.CPU < 1 || a.Max <= least:
		return nil, fmt.Errorf("autoscale %s: %d %% of processor time, %d to %d replicas leave it nothing to do", t.Workload, a.CPU, least, a.Max)
	}
	scalers := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace)
	if _, err := scalers.Get(ctx, t.Workload, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		if err == nil {
			err = apierrors.NewAlreadyExists(autoscalingv2.Resource("horizontalpodautoscalers"), t.Workload)
		}
		return nil, fmt.Errorf("autoscale %s: %w", t.Workload, err)
	}
	var down string // what the autoscaler did in the revert
	return Settling(&Effect{
		Ask:  func(ctx context.Context) (bool, string, error) { return t.hasAutoscaler(ctx, least) },
		Undo: func(ctx context.Context) (err error) { down, err = a.revert(ctx, t, least); return err },
		Restore: func(ctx context.Context) (string, error) {
			saw, err := t.scaledTo(ctx, least)
			return down + "; " + saw, err
		},
	}, func(ctx context.Context) (seen Observation, err error) {
		if _, err := scalers.Create(ctx, t.autoscaler(least, a.Max, a.CPU), metav1.CreateOptions{}); err != nil {
			return seen, fmt.Errorf("autoscale %s: %w", t.Workload, err)
		}
		metrics, err := t.autoscaled(ctx, "more", func(replicas int) bool { return replicas > least })
		if err != nil {
			return seen, err
		}
		settled, err := t.Settle(ctx)
		return Observation{Witness: metrics + "; " + settled}, err
	}), nil
}

// hasAutoscaler asks whether the autoscaler exists and the workload has more replicas than before.
func (t Target) hasAutoscaler(ctx context.Context, least int) (bool, string, error) {
	_, err := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, "the autoscaler is gone", nil
	}
	if err != nil {
		return false, "", err
	}
	d, err := t.deployment(ctx)
	if err != nil {
		return false, "", err
	}
	return int(*d.Spec.Replicas) > least, fmt.Sprintf("the autoscaler is there, and %s, from %d", plural(int(*d.Spec.Replicas), "replica"), least), nil
}

// revert has the autoscaler scale down to what there was, and removes it. An autoscaler that does not scale down is removed all the
// same, and the workload is scaled by us.
func (a Autoscale) revert(ctx context.Context, t Target, least int) (saw string, err error) {
	scalers := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace)
	// All that Max replicas use at their target is half of what the least may use at this one.
	_, err = scalers.Update(ctx, t.autoscaler(least, a.Max, 2*a.CPU*a.Max/least), metav1.UpdateOptions{})
	saw = "there was no autoscaler"
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err == nil:
		saw, err = t.autoscaled(ctx, "as few as there were", func(replicas int) bool { return replicas == least })
	}
	if removal := scalers.Delete(ctx, t.Workload, metav1.DeleteOptions{}); removal != nil && !apierrors.IsNotFound(removal) {
		return saw, errors.Join(err, fmt.Errorf("remove the autoscaler of %s: %w", t.Workload, removal))
	}
	if err := errors.Join(err, t.setScale(ctx, least)); err != nil { // which it has already, if all went well
		return saw, fmt.Errorf("scale %s down: %w", t.Workload, err)
	}
	return saw, nil
}

// autoscaler of the workload, with its name.
func (t Target) autoscaler(least, most, cpu int) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: t.Workload, Namespace: t.Namespace},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: t.apiKind(), Name: t.Workload},
			MinReplicas:    new(int32(least)), MaxReplicas: int32(most),
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name:   corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(cpu))},
				},
			}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(stabilization.Seconds()))},
			},
		},
	}
}

// autoscaled waits until the autoscaler has given the workload a number of replicas, and says why it did.
func (t Target) autoscaled(ctx context.Context, what string, enough func(replicas int) bool) (saw string, err error) {
	err = poll.Until(ctx, "the autoscaler of "+t.Workload+" to ask for "+what, scalingLimit, func(ctx context.Context) (bool, string, error) {
		d, err := t.deployment(ctx)
		if err != nil {
			return false, "", err
		}
		scaler, err := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace).Get(ctx, t.Workload, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		replicas, used := int(*d.Spec.Replicas), usage(scaler)
		saw = fmt.Sprintf("the autoscaler saw %s used, and asked for %s", used, plural(int(scaler.Status.DesiredReplicas), "replica"))
		return used != unmeasured && int(scaler.Status.DesiredReplicas) == replicas && enough(replicas), saw, nil
	})
	return saw, err
}

// unmeasured is what an autoscaler says before it has metrics.
const unmeasured = "nothing"

// usage is what the autoscaler's metrics say, or why it has none.
func usage(scaler *autoscalingv2.HorizontalPodAutoscaler) string {
	for _, m := range scaler.Status.CurrentMetrics {
		if m.Resource != nil && m.Resource.Current.AverageUtilization != nil {
			return fmt.Sprintf("%d %% of the requested processor time", *m.Resource.Current.AverageUtilization)
		}
	}
	return unmeasured
}
