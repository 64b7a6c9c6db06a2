package hold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// keep renews the Lease until ctx ends or another process takes the Lease. An unreachable API server does not end it, because
// that may be the fault under test.
func (h *Hold) keep(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	for {
		var asked chan error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.soon:
		case asked = <-h.wake:
		}
		err := h.renew(ctx)
		if asked != nil {
			asked <- err
		}
		var taken *takenError
		switch {
		case errors.As(err, &taken):
			h.why = err
			close(h.lost)
			return
		case err != nil:
			slog.Debug("renew the Lease of a cluster", "cluster", h.options.Cluster, "error", err)
		}
	}
}

// renewNow makes keep renew the Lease, and returns the result.
func (h *Hold) renewNow(ctx context.Context) error {
	asked := make(chan error, 1)
	select {
	case h.wake <- asked:
		return <-asked
	case <-h.lost:
		return h.why
	case <-h.over:
		return errors.New("the cluster was already released")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takenError means that another process has taken the Lease. If by is empty, it has released it since.
type takenError struct {
	cluster string
	by      Holder
}

func (e *takenError) Error() string {
	if e.by.Run == "" {
		return fmt.Sprintf("cluster %s was taken over and given back by another process while this one was silent: another holdfast has healed it", e.cluster)
	}
	return fmt.Sprintf("cluster %s was taken over by %s (%s; %s)", e.cluster, e.by.Run, e.by.Command, e.by.Process)
}

// renew writes the Lease and its copy once. It recreates a deleted Lease, unless this process was silent for so long that another one may have
// taken it, healed the cluster and released it. If another process owns the Lease, the error is a takenError.
func (h *Hold) renew(ctx context.Context) error {
	h.mu.Lock()
	who := h.who
	h.mu.Unlock()
	if err := writeCopy(h.options.Copy, who); err != nil { // not fatal: the Lease decides, not its copy
		slog.Debug("copy the Lease of a cluster", "cluster", h.options.Cluster, "error", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for range 3 { // a conflict may come from our own write whose answer was lost
		l, err := leaseOf(who, h.lease, time.Now())
		if err != nil {
			return err
		}
		asked := time.Now()
		now, err := put(ctx, h.client, l, h.lease)
		if err == nil {
			h.lease = now
			h.set(func(*Holder) { h.renewed = asked })
			return nil
		}
		if !outrun(err) {
			return err
		}
		if h.lease, err = get(ctx, h.client); err != nil {
			return err
		}
		if h.lease == nil {
			if since(h.renewedAt()) >= Silence {
				return &takenError{cluster: h.options.Cluster}
			}
			continue
		}
		s, err := holderOf(h.lease)
		if err != nil {
			return err
		}
		if s.Token != who.Token {
			return &takenError{h.options.Cluster, s.Holder}
		}
	}
	return errors.New("the Lease changed during each of 3 attempts to write it")
}

func (h *Hold) renewedAt() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.renewed
}

// since is how long ago a moment was, by the clock that says more: the monotonic one may stand still while a machine sleeps, and the other one may
// be set.
func since(at time.Time) time.Duration {
	wall := time.Now().Round(0).Sub(at.Round(0))
	return max(time.Since(at), wall, -wall)
}
