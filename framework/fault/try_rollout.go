package fault

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/poll"
)

// TryRollout begins a rolling update and looks at it again after For, whether it has come to its end or is stuck because
// new pods find no place. The undo rolls back.
type TryRollout struct {
	For time.Duration
}

func (r TryRollout) String() string { return fmt.Sprintf("try a rolling update for %s", r.For) }

// Plan implements Fault. The rollout was seen when a pod of the new revision exists, and For has passed after that.
func (r TryRollout) Plan(ctx context.Context, t Target) (Disruption, error) {
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
	}), nil
}
