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

// Inject implements Fault. It returns when a pod of the new revision was seen, and For has passed after that.
func (r TryRollout) Inject(ctx context.Context, t Target) (Heal, error) {
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
	err = poll.Until(ctx, "a new pod of "+t.Workload, SettleLimit, func(ctx context.Context) (bool, string, error) {
		now, err := t.pods(ctx)
		return len(gone(now, before)) > 0, plural(len(now), "pod"), err
	})
	if err != nil {
		return heal, err
	}
	if err := poll.Pass(ctx, r.For); err != nil {
		return heal, err
	}
	after, err := t.pods(ctx)
	if err != nil {
		return heal, err
	}
	done, saw, err := t.look(ctx)
	if err != nil {
		return heal, err
	}
	progress := "not at its end"
	if done {
		progress = "at its end"
	}
	t.Record.Seen(nil, gone(before, after), fmt.Sprintf("after %s the update is %s: %s", r.For, progress, saw))
	t.Record.Lasts(t.isOf(fresh))
	return heal, nil
}
