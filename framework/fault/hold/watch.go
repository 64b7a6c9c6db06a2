package hold

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// missed is how many renewals a holder gets after a time in which the API server could not be asked: it may have been away for the holder, too.
const missed = 3

// Watch observes who holds a cluster, and for how long the holder has been silent. It measures silence by its own clock, as the time for which it
// has seen the same Lease: clocks of other machines may be wrong, and may be set at any time.
type Watch struct {
	client  kubernetes.Interface
	looked  bool
	version string // of the Lease; empty: there was none
	since   time.Time
}

// Sight is what a Watch has seen.
type Sight struct {
	// Holder is empty if there is no Lease.
	Holder
	There bool
	// Silent is for how long the Lease has not changed, or for how long there has been none.
	Silent time.Duration
	// Renewed is when the holder has renewed the Lease, by its own clock.
	Renewed time.Time
	// Stop is why the holder's changes must be undone at once; empty: they need not be.
	Stop string

	lease *coordinationv1.Lease
}

// NewWatch is a Watch that has not looked yet.
func NewWatch(client kubernetes.Interface) *Watch { return &Watch{client: client} }

// Look looks once.
func (w *Watch) Look(ctx context.Context) (Sight, error) {
	bounded, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	l, err := get(bounded, w.client)
	if err != nil {
		if latest := time.Now().Add(missed*renewEvery - Silence); w.since.Before(latest) {
			w.since = latest
		}
		return Sight{}, fmt.Errorf("look who holds the cluster: %w", err)
	}
	version := ""
	if l != nil {
		version = string(l.UID) + "/" + l.ResourceVersion
	}
	if !w.looked || version != w.version {
		w.looked, w.version, w.since = true, version, time.Now()
	}
	return w.sight(l)
}

func (w *Watch) sight(l *coordinationv1.Lease) (Sight, error) {
	s := Sight{There: l != nil, Silent: time.Since(w.since), lease: l}
	if l == nil {
		return s, nil
	}
	who, err := holderOf(l)
	if err != nil { // a broken Lease must not keep a healer from what a run has left
		slog.Debug("look who holds the cluster", "error", err)
	}
	s.Holder, s.Renewed, s.Stop = who.Holder, who.renewed, l.Annotations[StopKey]
	return s, nil
}

// AskToStop stores on the Lease that everything must be undone at once, with the reason. Where nothing holds the cluster, it does nothing.
func AskToStop(ctx context.Context, client kubernetes.Interface, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	for {
		l, err := get(ctx, client)
		if err != nil || l == nil {
			return err
		}
		l = l.DeepCopy()
		metav1.SetMetaDataAnnotation(&l.ObjectMeta, StopKey, cmp.Or(reason, "no reason was given"))
		if _, err = put(ctx, client, l, l); !apierrors.IsConflict(err) { // otherwise the holder has renewed it meanwhile
			return err
		}
	}
}

// Seize takes a cluster from the holder that a Watch has seen, or takes it where there is no Lease, and only if the Lease has not changed since. The
// caller has a reason to: the holder was silent, or must end.
func Seize(ctx context.Context, client kubernetes.Interface, from Sight, run, command string, o Options) (*Hold, error) {
	h := newHold(client, run, command, o)
	l, err := leaseOf(h.who, from.lease, time.Now())
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	now, err := h.put(ctx, l, from.lease)
	if err != nil {
		return nil, fmt.Errorf("take the cluster from %s: %w", from.Run, err)
	}
	return h.begin(ctx, now, asked)
}

// awaitSilence returns when a holder whose process cannot be checked has been silent for long enough. If the holder is alive, the error is a
// HeldError.
func awaitSilence(ctx context.Context, client kubernetes.Interface, who Holder, o Options) error {
	if who.Life() != process.Elsewhere || who.over() {
		return nil
	}
	if o.Waiting != nil {
		o.Waiting(who)
	}
	w := NewWatch(client)
	first := ""
	var alive error
	err := poll.Until(ctx, "a sign of life from "+who.Run, 2*Silence, func(ctx context.Context) (bool, string, error) {
		s, err := w.Look(ctx)
		if err != nil {
			return false, "", err
		}
		first = cmp.Or(first, w.version)
		if w.version != first && s.There {
			alive = &HeldError{o.Cluster, s.Holder, o.Foreign}
			return true, "renewed", nil
		}
		return s.Silent >= Silence || !s.There, fmt.Sprintf("silent for %s", s.Silent.Round(time.Second)), nil
	})
	if alive != nil {
		return alive
	}
	return err
}
