package fault

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	fresh, rollBack, err := t.revisions(ctx)
	if err != nil {
		return nothing, err
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nothing, err
	}
	heal := once(rollBack)
	if err := t.annotate(ctx, &fresh); err != nil {
		return heal, err
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
	if len(victims) == 0 || len(victims) < len(before) {
		return heal, fmt.Errorf("roll out %s: of %s, %d were replaced", t.Workload, plural(len(before), "pod"), len(victims))
	}
	t.Record.Seen(nil, victims, witness)
	t.Record.Lasts(t.isOf(fresh))
	return heal, nil
}

// isOf asks whether the template still says a revision, and whether there is a pod that the controller made of it.
func (t Target) isOf(revision string) Lasting {
	return t.asLongAs(func(d *appsv1.Deployment, pods map[string]corev1.Pod) (bool, string) {
		fresh := 0
		for _, p := range pods {
			if p.DeletionTimestamp == nil && p.Annotations[rolloutAnnotation] == revision {
				fresh++
			}
		}
		says := d.Spec.Template.Annotations[rolloutAnnotation] == revision
		return says && fresh > 0, fmt.Sprintf("the template is the new one: %t; %d of %s made of it", says, fresh, plural(len(pods), "pod"))
	})
}

// revisions names a revision that the workload never had, and how to get back to the one it has.
func (t Target) revisions(ctx context.Context) (fresh string, rollBack Heal, err error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return "", nil, err
	}
	var restore *string // a merge patch removes a key by setting it to null
	if old, had := d.Spec.Template.Annotations[rolloutAnnotation]; had {
		restore = &old
	}
	return "after " + d.ResourceVersion, func(ctx context.Context) error {
		if err := t.annotate(ctx, restore); err != nil {
			return err
		}
		witness, err := t.Settle(ctx)
		if err == nil {
			t.Record.Healed("rolled back: " + witness)
		}
		return err
	}, nil
}

// annotate sets the annotation of the pod template, or removes it, which makes it another template.
func (t Target) annotate(ctx context.Context, value *string) error {
	annotation, err := json.Marshal(map[string]*string{rolloutAnnotation: value})
	if err != nil {
		return fmt.Errorf("roll %s: %w", t.Workload, err)
	}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":%s}}}}`, annotation)
	if err := t.patch(ctx, types.MergePatchType, patch); err != nil {
		return fmt.Errorf("roll %s: %w", t.Workload, err)
	}
	return nil
}
