package fault

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rollout replaces every pod by a rolling update: the pod template gets a new annotation, as `kubectl rollout restart`
// gives it. The undo rolls back to the template that was there, which is a rolling update too.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
type Rollout struct{}

// rolloutAnnotation is what a Rollout changes in the pod template.
const rolloutAnnotation = "holdfast.dev/rollout"

func (Rollout) String() string { return "rolling update" }

// Inject implements Fault. It returns when every pod is of the new revision and the old ones are gone.
func (Rollout) Inject(ctx context.Context, t Target) (Heal, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nothing, err
	}
	old, had := d.Spec.Template.Annotations[rolloutAnnotation]
	restore := "null" // a merge patch removes a key by setting it to null
	if had {
		restore = fmt.Sprintf("%q", old)
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		witness, err := t.roll(ctx, restore)
		if err == nil {
			t.Record.Healed("rolled back: " + witness)
		}
		return err
	})
	witness, err := t.roll(ctx, fmt.Sprintf("%q", "after "+d.ResourceVersion))
	if err != nil {
		return heal, err
	}
	after, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	t.Record.Seen(nil, gone(before, after), witness)
	return heal, nil
}

// roll sets the annotation to a JSON value and waits until the workload has settled on the template it makes.
func (t Target) roll(ctx context.Context, value string) (witness string, err error) {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%s}}}}}`, rolloutAnnotation, value)
	_, err = t.Client.AppsV1().Deployments(t.Namespace).Patch(ctx, t.Workload, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		return "", fmt.Errorf("roll %s: %w", t.Workload, err)
	}
	return t.Settle(ctx)
}
