package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Evict asks the eviction API, once for each pod and without a pause, to evict every pod of the workload. A budget has
// to refuse what it must protect: refusals are the point, not an error. The undo waits until the workload has settled.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/
type Evict struct{}

func (Evict) String() string { return "ask to evict every pod" }

// Plan implements Fault. The evictions were seen when the workload has settled without the pods whose eviction was accepted.
func (Evict) Plan(ctx context.Context, t Target) (Disruption, error) {
	before, err := t.staying(ctx)
	if err != nil {
		return nil, err
	}
	if len(before) == 0 {
		return nil, fmt.Errorf("evict pods of %s: it has none", t.Workload)
	}
	var seen Observation
	return &Effect{
		Do: func(ctx context.Context) error {
			refused, err := t.evictAll(ctx, before)
			if err != nil {
				return err
			}
			settled, err := t.Settle(ctx)
			if err != nil {
				return err
			}
			after, err := t.pods(ctx)
			if err != nil {
				return err
			}
			victims := gone(before, after)
			if len(victims)+refused != len(before) {
				return fmt.Errorf("evict pods of %s: %d asked for, %d refused, yet %d are gone", t.Workload, len(before), refused, len(victims))
			}
			seen = Observation{Pods: victims, Witness: fmt.Sprintf("%d refused, %d gone; %s", refused, len(victims), settled)}
			return nil
		},
		See:     func(context.Context) (bool, Observation, error) { return seen.Witness != "", seen, nil },
		Restore: t.Settle,
		Over:    podsStayGone,
	}, nil
}

// evictAll asks for the eviction of each pod once, and counts the refusals.
func (t Target) evictAll(ctx context.Context, pods map[string]corev1.Pod) (refused int, err error) {
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		err := t.Client.PolicyV1().Evictions(t.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.Namespace},
		})
		switch {
		case apierrors.IsTooManyRequests(err):
			refused++
		case err != nil:
			return refused, fmt.Errorf("evict pod %s: %w", name, err)
		}
	}
	return refused, nil
}
