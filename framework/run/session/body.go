package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// body is what a recording of a step records: the fault and its undo, as one command of the record.
func (s *Session) body(step disturb.Step) recording.Body {
	return func(ctx context.Context, rec *recording.Session) error {
		return rec.Step(history.Step{What: history.CommandStep}, func() error { return s.disturb(ctx, rec, step) })
	}
}

// disturb injects a step and undoes it, whatever happens meanwhile.
func (s *Session) disturb(ctx context.Context, rec *recording.Session, step disturb.Step) error {
	if err := s.still(ctx, step); err != nil {
		return err
	}
	i, err := s.injection(step)
	if err != nil {
		return err
	}
	return s.play(ctx, i, rec)
}

// requests are those of a recording.
type requests interface {
	Requests() (sent, failed uint64)
	Silent() time.Duration
}

// play injects a step, undoes it before its time if too many requests have failed, and in any case in the end.
func (s *Session) play(ctx context.Context, i *injection, load requests) error {
	step := i.step
	boxed, cancel := context.WithCancelCause(ctx)
	timed, stop := context.WithTimeoutCause(boxed, step.Box.Duration, &BoxError{step.Box.Duration})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		cancel(s.trouble(timed, load))
	}()
	err := i.inject(timed)
	if cause := context.Cause(timed); err != nil && cause != nil && ctx.Err() == nil {
		err = cause // and not that a request was cut off
	}
	stop()
	<-watched
	if err != nil && ctx.Err() == nil {
		s.options.Say("  %v", err)
	}
	undone := i.undo(context.WithoutCancel(ctx))
	if undone != nil {
		s.left = undone
		s.options.Say("  NOT undone: %v", undone)
	}
	return errors.Join(err, undone)
}

// still returns an error if a rule refuses the step on the cluster as it is now: pods may have ended while the load was begun.
func (s *Session) still(ctx context.Context, step disturb.Step) error {
	r, snapshot, err := s.look(ctx, step)
	if err != nil {
		return err
	}
	if refusals := disturb.Again(r, snapshot, step); len(refusals) > 0 {
		return fmt.Errorf("it was not begun: %w", &RefusedError{refusals})
	}
	return nil
}

// BoxError means that a fault lasted for as long as it may, and was then undone before it was complete.
type BoxError struct{ Box time.Duration }

func (e *BoxError) Error() string {
	return fmt.Sprintf("the fault was not complete after %s, for which it may last, and is undone", e.Box)
}

// HarmError means that so many requests failed that the fault was undone before it was complete (rule 14).
type HarmError struct{ Failed, Most uint64 }

func (e *HarmError) Error() string {
	return fmt.Sprintf("%d requests have failed, and %d may: the fault is undone at once", e.Failed, e.Most)
}

// SilentError means that the load workers could not be reached: whether requests fail is not known, and the fault was undone before it was complete (rule 14).
type SilentError struct{ For time.Duration }

func (e *SilentError) Error() string {
	return fmt.Sprintf("a load worker could not be reached for %s, so that failures of its requests would not be seen: the fault is undone at once", e.For.Round(time.Second))
}

// silentLimit is how long a load worker may not be reached: longer than an API server that is restarted is away for a call, and shorter than a person waits.
const silentLimit = 30 * time.Second

// watchEvery is how often it is looked whether requests fail. Workers are asked for their rows every two seconds.
const watchEvery = 500 * time.Millisecond

// trouble returns why a fault must end before it is complete, or nil when the context ends.
func (s *Session) trouble(ctx context.Context, load requests) error {
	most := uint64(s.options.Intent.Request.Limits.Failures)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.held.Lost():
			return s.held.Err()
		case <-tick.C:
			_, failed := load.Requests()
			switch silent := load.Silent(); {
			case failed > most:
				return &HarmError{failed, most}
			case silent > silentLimit:
				return &SilentError{silent}
			}
		}
	}
}

// injection prepares the clients of a step.
func (s *Session) injection(step disturb.Step) (*injection, error) {
	config := s.config(&step)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	i := &injection{step: step, run: s.identity.ID, hook: s.options.Intent.Request.Hook, client: client, say: s.options.Say}
	i.before = func(ctx context.Context) error {
		return cmp.Or(s.held.Confirm(ctx), s.healing(ctx, client), i.calm(ctx))
	}
	i.changes = &undo.Changes{
		Run: s.identity.ID, Hold: s.held, Dynamic: untyped,
		Lasts: step.Box.Duration + hold.Silence, // this process ends it at the end of the box; the healer does if this process hangs
	}
	return i, nil
}
