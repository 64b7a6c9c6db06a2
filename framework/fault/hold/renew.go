package hold

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/holdfast-ha/holdfast/framework/base/output"
)

// keep renews the Lease until ctx ends, or the cluster is lost: another process has taken the Lease, or it could not be written for as long as after
// which one may. While a fault is in force, an unreachable API server does not end it, because that may be the fault under test. Nor does it in a cluster
// that holdfast did not make: an upgrade may take its API server away, and the healer takes the Lease of a run that is silent.
func (h *Hold) keep(ctx context.Context) {
	tick := time.NewTicker(renewEvery)
	defer tick.Stop()
	var failing time.Time // when the first of the attempts began that have failed since the last success; zero: none has
	for {
		var asked chan error
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-h.soon:
		case asked = <-h.wake:
		}
		began := time.Now()
		err := h.renew(ctx)
		switch {
		case err == nil || h.disturbed():
			failing = time.Time{}
		case failing.IsZero():
			failing = began
		}
		lost := h.losing(err, failing)
		if asked != nil {
			asked <- err
		}
		if lost {
			return
		}
	}
}

// losing closes lost if the result of a renewal means that the cluster is lost.
func (h *Hold) losing(err error, failing time.Time) bool {
	var taken *takenError
	switch {
	case err == nil:
		return false
	case errors.As(err, &taken):
		h.why = err
	case !failing.IsZero() && time.Since(failing) >= Silence:
		h.why = &silentError{h.options.Cluster, time.Since(failing), err}
	default:
		slog.Debug("renew the Lease of a cluster", "cluster", h.options.Cluster, "error", err)
		return false
	}
	close(h.lost)
	return true
}

func (h *Hold) disturbed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inForce || h.options.Foreign
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
		select {
		case <-h.lost: // which ends the renewals, too
			return h.why
		default:
			return errors.New("the cluster was already released")
		}
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
	return output.Line(fmt.Sprintf("cluster %s was taken over by %s (%s; %s)", e.cluster, e.by.Run, e.by.Command, e.by.Process))
}

// silentError means that the Lease could not be written for so long that another process may take it.
type silentError struct {
	cluster string
	lasted  time.Duration
	last    error
}

func (e *silentError) Error() string {
	return fmt.Sprintf("the Lease by which this run holds cluster %s could not be written for %s, and after %s another run may take the cluster: look why its API server refuses or does not answer: %v",
		e.cluster, e.lasted.Round(time.Second), Silence, e.last)
}

func (e *silentError) Unwrap() error { return e.last }

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
		if h.lease, err = h.ours(ctx, who); err != nil {
			return err
		}
	}
	return errors.New("the Lease changed during each of 3 attempts to write it")
}

// ours reads the Lease that this process may write next, after another version of it was there than the last one: nil to create it. With an error it is the
// last one, which the API server lets no process write: neither the Lease of another process, nor one whose holder is unknown, is ever written.
func (h *Hold) ours(ctx context.Context, who Holder) (*coordinationv1.Lease, error) {
	now, err := get(ctx, h.client)
	switch {
	case err != nil:
		return h.lease, err
	case now == nil && since(h.renewedAt()) >= Silence:
		return h.lease, &takenError{cluster: h.options.Cluster}
	case now == nil:
		return nil, nil
	}
	s, err := holderOf(now)
	if err != nil {
		return h.lease, err
	}
	if s.Token != who.Token {
		return h.lease, &takenError{h.options.Cluster, s.Holder}
	}
	return now, nil
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
