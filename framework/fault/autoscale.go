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

	"github.com/holdfast-ha/holdfast/framework/poll"
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

// Inject implements Fault. It returns when there are more replicas, which the workload's controller was not asked for by us,
// and it has settled with them.
func (a Autoscale) Inject(ctx context.Context, t Target) (Heal, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nothing, err
	}
	least := int(*d.Spec.Replicas)
	asks := cpuOf(d.Spec.Template.Spec)
	switch {
	case asks.IsZero():
		return nothing, fmt.Errorf("autoscale %s: its pods ask for no processor time to use a share of", t.Workload)
	case a.CPU < 1 || a.Max <= least:
		return nothing, fmt.Errorf("autoscale %s: %d %% of processor time, %d to %d replicas leave it nothing to do", t.Workload, a.CPU, least, a.Max)
	}
	heal := once(func(ctx context.Context) error { return a.undo(ctx, t, least) })
	scaler := t.autoscaler(least, a.Max, a.CPU)
	if _, err := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace).Create(ctx, scaler, metav1.CreateOptions{}); err != nil {
		return heal, fmt.Errorf("autoscale %s: %w", t.Workload, err)
	}
	metrics, err := t.autoscaled(ctx, "more", func(replicas int) bool { return replicas > least })
	if err != nil {
		return heal, err
	}
	witness, err := t.Settle(ctx)
	if err != nil {
		return heal, err
	}
	t.Record.Seen(nil, nil, metrics+"; "+witness)
	t.Record.Lasts(func(ctx context.Context) (bool, string, error) {
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
	})
	return heal, nil
}

// undo has the autoscaler scale down to what there was, and removes it. One that does not is removed all the same, and the
// workload scaled by hand.
func (a Autoscale) undo(ctx context.Context, t Target, least int) error {
	scalers := t.Client.AutoscalingV2().HorizontalPodAutoscalers(t.Namespace)
	// All that Max replicas use at their target is half of what the least may use at this one.
	_, err := scalers.Update(ctx, t.autoscaler(least, a.Max, 2*a.CPU*a.Max/least), metav1.UpdateOptions{})
	saw := "there was no autoscaler"
	switch {
	case apierrors.IsNotFound(err):
		err = nil
	case err == nil:
		saw, err = t.autoscaled(ctx, "as few as there were", func(replicas int) bool { return replicas == least })
	}
	if removal := scalers.Delete(ctx, t.Workload, metav1.DeleteOptions{}); removal != nil && !apierrors.IsNotFound(removal) {
		return errors.Join(err, fmt.Errorf("remove the autoscaler of %s: %w", t.Workload, removal))
	}
	witness, byHand := t.scale(ctx, least) // which it has already, if all went well
	if err := errors.Join(err, byHand); err != nil {
		return fmt.Errorf("scale %s down: %w", t.Workload, err)
	}
	t.Record.Healed(saw + "; " + witness)
	return nil
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
