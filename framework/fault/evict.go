package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"

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

// Inject implements Fault. It returns when the pods whose eviction was accepted are gone and replaced.
func (Evict) Inject(ctx context.Context, t Target) (Heal, error) {
	heal := t.waitSettled()
	before, err := t.staying(ctx)
	if err != nil {
		return heal, err
	}
	if len(before) == 0 {
		return heal, fmt.Errorf("evict pods of %s: it has none", t.Workload)
	}
	refused := 0
	for _, name := range slices.Sorted(maps.Keys(before)) {
		err := t.Client.PolicyV1().Evictions(t.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: t.Namespace},
		})
		switch {
		case apierrors.IsTooManyRequests(err):
			refused++
		case err != nil:
			return heal, fmt.Errorf("evict pod %s: %w", name, err)
		}
	}
	witness, err := t.Settle(ctx)
	if err != nil {
		return heal, err
	}
	after, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	victims := gone(before, after)
	if len(victims)+refused != len(before) {
		return heal, fmt.Errorf("evict pods of %s: %d asked for, %d refused, yet %d are gone",
			t.Workload, len(before), refused, len(victims))
	}
	t.Record.Seen(nil, victims, fmt.Sprintf("%d refused, %d gone; %s", refused, len(victims), witness))
	return heal, nil
}
