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
// gives it. The revert rolls back to the template that was there, which is a rolling update too.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
type Rollout struct{}

// rolloutAnnotation is what a Rollout changes in the pod template.
const rolloutAnnotation = "holdfast.dev/rollout"

func (Rollout) String() string { return "rolling update" }

// Plan implements Fault. The rollout was seen when every pod is of the new revision and the old ones are gone.
func (Rollout) Plan(ctx context.Context, t Target) (Disruption, error) {
	fresh, old, err := t.revisions(ctx)
	if err != nil {
		return nil, err
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	return Settling(&Effect{
		Ask:     t.isOf(fresh),
		Undo:    func(ctx context.Context) error { return t.annotate(ctx, old) },
		Restore: t.rolledBack,
	}, func(ctx context.Context) (seen Observation, err error) {
		if err := t.annotate(ctx, &fresh); err != nil {
			return seen, err
		}
		if seen.Witness, err = t.Settle(ctx); err != nil {
			return seen, err
		}
		after, err := t.pods(ctx)
		if err != nil {
			return seen, err
		}
		seen.Pods = gone(before, after)
		if len(seen.Pods) == 0 || len(seen.Pods) < len(before) {
			err = fmt.Errorf("roll out %s: of %s, %d were replaced", t.Workload, plural(len(before), "pod"), len(seen.Pods))
		}
		return seen, err
	}), nil
}

// isOf asks whether the template still says a revision, and whether there is a pod that the controller made of it.
func (t Target) isOf(revision string) func(context.Context) (bool, string, error) {
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

// revisions returns a revision that the workload never had, and the one that it has.
func (t Target) revisions(ctx context.Context) (fresh string, current *string, err error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return "", nil, err
	}
	if old, had := d.Spec.Template.Annotations[rolloutAnnotation]; had {
		current = &old // otherwise nil: a merge patch removes a key by setting it to null
	}
	return "after " + d.ResourceVersion, current, nil
}

// rolledBack waits until the workload has settled with the revision that it had, or Kubernetes says that it does not.
func (t Target) rolledBack(ctx context.Context) (string, error) {
	saw, stuck, err := t.finish(ctx, "to roll back")
	if stuck != "" {
		err = fmt.Errorf("roll %s back: it does not come to its end: %s", t.Workload, saw)
	}
	return "rolled back: " + saw, err
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
