package fault

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/observe"
)

// TryRollout begins a rolling update and looks at it again after For, whether it has come to its end or is stuck because
// new pods find no place. Without For, it waits until the update has come to its end or Kubernetes says that it does not. The undo
// rolls back.
type TryRollout struct {
	For time.Duration
}

func (r TryRollout) String() string {
	if r.For == 0 {
		return "try a rolling update"
	}
	return fmt.Sprintf("try a rolling update for %s", r.For)
}

// Plan implements Fault. The rollout was seen when a pod of the new revision exists, and For has passed after that. Without For, it was
// seen when all pods were replaced, or when it was stuck, also without a new pod.
func (r TryRollout) Plan(ctx context.Context, t Target) (Disruption, error) {
	fresh, old, err := t.revisions(ctx)
	if err != nil {
		return nil, err
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	stuck := ""
	e := &Effect{
		Undo:    func(ctx context.Context) error { return t.annotate(ctx, old) },
		Restore: t.rolledBack,
	}
	e.Ask = func(ctx context.Context) (bool, string, error) {
		if stuck != "" {
			return t.says(fresh)(ctx)
		}
		return t.isOf(fresh)(ctx)
	}
	return Settling(e, func(ctx context.Context) (seen Observation, err error) {
		if err := t.annotate(ctx, &fresh); err != nil {
			return seen, err
		}
		if r.For > 0 {
			return r.after(ctx, t, before)
		}
		if seen.Witness, stuck, err = t.finish(ctx, "to roll out"); err != nil {
			return seen, err
		}
		after, err := t.pods(ctx)
		seen.Pods = gone(before, after)
		if err == nil && stuck == "" && (len(seen.Pods) == 0 || len(seen.Pods) < len(before)) {
			err = fmt.Errorf("roll out %s: of %s, %d were replaced", t.Workload, plural(len(before), "pod"), len(seen.Pods))
		}
		return seen, err
	}), nil
}

// after looks at a rollout some time after its first new pod.
func (r TryRollout) after(ctx context.Context, t Target, before map[string]corev1.Pod) (seen Observation, err error) {
	err = poll.Until(ctx, "a new pod of "+t.Workload, SettleLimit, func(ctx context.Context) (bool, string, error) {
		now, err := t.pods(ctx)
		return len(gone(now, before)) > 0, plural(len(now), "pod"), err
	})
	if err != nil {
		return seen, err
	}
	if err := poll.Pass(ctx, r.For); err != nil {
		return seen, err
	}
	after, err := t.pods(ctx)
	if err != nil {
		return seen, err
	}
	done, saw, err := t.look(ctx)
	progress := "not at its end"
	if done {
		progress = "at its end"
	}
	return Observation{Pods: gone(before, after), Witness: fmt.Sprintf("after %s the update is %s: %s", r.For, progress, saw)}, err
}

// says asks whether the template still says a revision.
func (t Target) says(revision string) func(context.Context) (bool, string, error) {
	return t.asLongAs(func(d *appsv1.Deployment, _ map[string]corev1.Pod) (bool, string) {
		says := d.Spec.Template.Annotations[rolloutAnnotation] == revision
		return says, fmt.Sprintf("the template is the new one: %t", says)
	})
}

const (
	// lookEvery is how often Kubernetes is asked why a rollout does not come to its end.
	lookEvery = 5 * time.Second
	// hopeless is longer than the time that must pass in the record, whose watches may hear of the last change later.
	hopeless = timeline.HopelessAfter + 2*lookEvery
	// finishLimit bounds the wait for a rollout. Kubernetes' own default deadline for progress is ten minutes.
	finishLimit = SettleLimit + time.Minute
)

// finish waits until a rollout has settled, or Kubernetes says that it does not; stuck is why, and no error.
func (t Target) finish(ctx context.Context, what string) (witness, stuck string, err error) {
	var watch timeline.RolloutWatch
	began := time.Now()
	next := began
	err = poll.Until(ctx, t.kind()+" "+t.Workload+" "+what, finishLimit, func(ctx context.Context) (bool, string, error) {
		done, saw, err := t.settled(ctx)
		witness = saw
		if done || err != nil || time.Now().Before(next) {
			return done, saw, err
		}
		next = time.Now().Add(lookEvery)
		if err := t.watch(ctx, &watch, time.Since(began)); err != nil {
			return false, saw, err
		}
		if stuck = watch.Hopeless(time.Since(began), hopeless).Words; stuck != "" {
			witness = stuck + "; " + saw
		}
		return stuck != "", saw, nil
	})
	return witness, stuck, err
}

// watch takes in what the cluster says of the workload just now.
func (t Target) watch(ctx context.Context, into *timeline.RolloutWatch, at time.Duration) error {
	d, err := t.deployment(ctx)
	if err != nil {
		return err
	}
	pods, err := t.pods(ctx)
	if err != nil {
		return err
	}
	w := observe.WorkloadOf(d)
	w.StatefulSet, w.DaemonSet = t.Kind == statefulSet, t.Kind == daemonSet
	if w.Kind() != "Deployment" && len(pods) < w.Replicas { // it has no condition for it
		notes, err := observe.Notes(ctx, t.Client, t.Namespace, t.Workload)
		if err != nil {
			return err
		}
		for _, e := range notes {
			into.Note(e.InvolvedObject.Kind, e.Reason, e.Message)
		}
	}
	into.See(at, w, observe.PodsOf(pods))
	return nil
}
