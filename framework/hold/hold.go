// Package hold has one run at a time use a cluster: it takes a Lease there, renews it while the run lives, and says to whoever
// comes second whose it is. The Lease also says which fault is in force, so that a cluster that a killed run left in the middle
// of one is known as such.
//
// It undoes nothing, and it ends no other run.
package hold

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/process"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// The limits of what is asked of the API server.
const (
	askLimit  = 3 * time.Second  // who holds the cluster: whoever asks waits for it
	callLimit = 5 * time.Second  // one renewal
	markLimit = 30 * time.Second // that a fault will be done: a starved API server gets its time
	giveLimit = 10 * time.Second // that the cluster is free again
)

// Options of a Hold.
type Options struct {
	Cluster string // its name, for messages
	// Copy is a file beside the cluster that says the same as the Lease, for when the API server is away; empty: none.
	Copy string
	// Heal takes the cluster also from a holder that was killed, and Found hears of it; nil: nobody wants to.
	Heal  bool
	Found func(dead Holder)
}

// Hold is a cluster that this process has for itself. A nil Hold is one that nobody else can see: its methods do nothing.
type Hold struct {
	client  kubernetes.Interface
	options Options

	mu    sync.Mutex
	who   Holder
	lease *coordinationv1.Lease // as this process wrote it last

	wake chan chan error // asks for a renewal now, and hears what came of it
	soon chan struct{}   // asks for a renewal, and goes on
	stop context.CancelFunc
	over chan struct{} // closed when nothing is renewed any more
	lost chan struct{} // closed when the Lease is somebody else's
	why  error         // set before lost is closed
}

// Take has this process hold the cluster until Release or Leave. The error is a *HeldError, an *AbandonedError or an
// *UnreachableError where it is one of these. Of two processes that try at the same time one gets it.
func Take(ctx context.Context, client kubernetes.Interface, run, command string, o Options) (*Hold, error) {
	h := &Hold{
		client: client, options: o, wake: make(chan chan error), soon: make(chan struct{}, 1), over: make(chan struct{}), lost: make(chan struct{}),
		who: Holder{Run: run, Command: command, Process: process.Self(), Since: time.Now(), Token: rand.Text()},
	}
	for range 10 { // somebody else may be faster, but not for ever
		was, err := look(ctx, client, o)
		if err != nil {
			return nil, err
		}
		l, err := leaseOf(h.who, was, time.Now())
		if err != nil {
			return nil, err
		}
		if h.lease, err = h.put(ctx, l, was); err == nil {
			if was != nil && o.Found != nil {
				dead, _ := holderOf(was) // look has read it
				o.Found(dead.Holder)
			}
			return h, h.begin(ctx)
		}
		if !outrun(err) { // it may be ours all the same: the answer may have been lost
			return nil, errors.Join(fmt.Errorf("take cluster %s: %w", o.Cluster, err), h.delete(context.WithoutCancel(ctx)))
		}
	}
	return nil, fmt.Errorf("take cluster %s: others are faster", o.Cluster)
}

// put writes the Lease, and waits for the answer also when ctx has ended: a Lease of ours that nobody knows of would stay.
func (h *Hold) put(ctx context.Context, l, was *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return put(ctx, h.client, l, was)
}

// begin renews the Lease from now on, also after the context of Take has ended.
func (h *Hold) begin(ctx context.Context) error {
	if err := writeCopy(h.options.Copy, h.who); err != nil {
		return errors.Join(err, h.delete(ctx))
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(h.over)
		h.keep(ctx)
	}()
	return nil
}

// Check says who uses the cluster, or has left it in another state than it found it; nil: nobody, as far as can be told.
func Check(ctx context.Context, client kubernetes.Interface, o Options) error {
	_, err := look(ctx, client, o)
	return err
}

// CheckCopy is Check without asking the API server: it knows what this machine does.
func CheckCopy(o Options) error {
	who, there := readCopy(o.Copy)
	switch s := (seen{Holder: who}); {
	case !there:
		return nil
	case s.abandoned(time.Now()):
		return &AbandonedError{o.Cluster, who}
	}
	return &HeldError{o.Cluster, who}
}

// look is the Lease, if it may be taken.
func look(ctx context.Context, client kubernetes.Interface, o Options) (*coordinationv1.Lease, error) {
	bounded, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	l, err := get(bounded, client)
	var s seen
	switch {
	case err != nil:
		copied, there := readCopy(o.Copy)
		if !there {
			return nil, &UnreachableError{o.Cluster, err}
		}
		s = seen{Holder: copied}
		if s.abandoned(time.Now()) && o.Heal {
			return nil, &UnreachableError{o.Cluster, err}
		}
	case l == nil:
		return nil, nil
	default:
		if s, err = holderOf(l); err != nil {
			return nil, err
		}
	}
	switch {
	case !s.abandoned(time.Now()):
		return nil, &HeldError{o.Cluster, s.Holder}
	case !o.Heal:
		return nil, &AbandonedError{o.Cluster, s.Holder}
	}
	return l, nil
}

// Lost is closed when somebody else has taken the cluster; Err then says who.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// Err says who has taken the cluster, once Lost is closed.
func (h *Hold) Err() error {
	if h == nil {
		return nil
	}
	return h.why
}

// Mark writes down what will be done to the cluster, and returns once that can be read: a process that is killed afterwards
// leaves the mark.
func (h *Hold) Mark(ctx context.Context, fault string) error {
	if h == nil {
		return nil
	}
	h.set(func(who *Holder) { who.Fault = fault })
	return poll.Until(ctx, "cluster "+h.options.Cluster+" to say that "+fault+" is in force", markLimit, func(ctx context.Context) (bool, string, error) {
		err := h.renewNow(ctx)
		return err == nil, "", err
	})
}

// Unmark says that all was undone. It is written down soon, and need not be waited for.
func (h *Hold) Unmark() {
	if h == nil {
		return
	}
	h.set(func(who *Holder) { who.Fault = "" })
	select {
	case h.soon <- struct{}{}:
	default: // it will be written anyway
	}
}

func (h *Hold) set(change func(*Holder)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.who)
}

// Release gives the cluster back. Somebody else's Lease stays.
func (h *Hold) Release(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.end()
	select {
	case <-h.lost:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveLimit)
	defer cancel()
	err := poll.Until(ctx, "cluster "+h.options.Cluster+" to be given back", giveLimit, func(ctx context.Context) (bool, string, error) {
		err := h.delete(ctx)
		return err == nil, "", err
	})
	if err != nil {
		return err // the copy says so, too, as long as the process lives
	}
	return removeCopy(h.options.Copy)
}

// Leave ends the renewals and leaves the Lease, which says in which state the cluster is.
func (h *Hold) Leave(ctx context.Context, left string) error {
	if h == nil {
		return nil
	}
	h.end()
	h.set(func(who *Holder) { who.Left = left })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveLimit)
	defer cancel()
	// That it cannot be written is no trouble: once this process has ended, the Lease as it is says as much.
	if err := h.renew(ctx); err != nil {
		slog.Debug("write down how a cluster was left", "cluster", h.options.Cluster, "error", err)
	}
	return nil
}

// Drop ends the renewals of a cluster that is removed.
func (h *Hold) Drop() {
	if h != nil {
		h.end()
	}
}

// end returns when nothing is renewed any more.
func (h *Hold) end() {
	h.stop()
	<-h.over
}

// delete removes the Lease if it is still ours.
func (h *Hold) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	l, err := get(ctx, h.client)
	if err != nil || l == nil {
		return err
	}
	if s, err := holderOf(l); err != nil || s.Token != h.who.Token {
		return nil // another run holds it
	}
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}}
	if err := h.client.CoordinationV1().Leases(Namespace).Delete(ctx, LeaseName, only); err != nil && !outrun(err) {
		return err
	}
	return nil
}
