package hold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// keep renews the Lease until ctx ends or the Lease is somebody else's. An API server that is away, which may be the fault
// that is tested, ends nothing.
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

// renewNow has keep renew the Lease, and returns what came of it.
func (h *Hold) renewNow(ctx context.Context) error {
	asked := make(chan error, 1)
	select {
	case h.wake <- asked:
		return <-asked
	case <-h.lost:
		return h.why
	case <-h.over:
		return errors.New("the cluster was given back")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takenError says that somebody else has the cluster now.
type takenError struct {
	cluster string
	by      Holder
}

func (e *takenError) Error() string {
	return fmt.Sprintf("cluster %s was taken over by %s (%s; %s)", e.cluster, e.by.Run, e.by.Command, e.by.Process)
}

// renew writes the Lease once, and its copy. One that was deleted is made again; one that somebody else has, is lost.
func (h *Hold) renew(ctx context.Context) error {
	h.mu.Lock()
	who := h.who
	h.mu.Unlock()
	if err := writeCopy(h.options.Copy, who); err != nil { // the Lease is what counts
		slog.Debug("copy the Lease of a cluster", "cluster", h.options.Cluster, "error", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	for range 3 { // a conflict may be our own: an answer of the API server that never came
		l, err := leaseOf(who, h.lease, time.Now())
		if err != nil {
			return err
		}
		now, err := put(ctx, h.client, l, h.lease)
		if err == nil {
			h.lease = now
			return nil
		}
		if !outrun(err) {
			return err
		}
		if h.lease, err = get(ctx, h.client); err != nil {
			return err
		}
		if h.lease == nil {
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
	return errors.New("the Lease changes with every renewal")
}
