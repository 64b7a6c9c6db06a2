// Package hold ensures that only one run at a time uses a cluster. A run takes a Lease in the cluster and renews it while the
// run is alive. Another run that tries to take the cluster gets an error that names the holder. The Lease also records which
// fault is in force, so that a cluster left mid-fault by a killed run can be recognized.
//
// The package does not revert faults, and does not stop other runs.
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

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// Time limits of calls to the API server.
const (
	askLimit  = 3 * time.Second  // reading the holder, while the caller waits
	callLimit = 5 * time.Second  // one write or deletion of the Lease
	markLimit = 30 * time.Second // recording a fault in the Lease: long, because a starved API server may be slow
	giveLimit = 10 * time.Second // releasing the cluster
)

// Options say how a cluster is held.
type Options struct {
	Cluster string // name for messages
	// Copy is a local file with the same content as the Lease, for when the API server is unreachable. Empty means no copy.
	Copy string
	// Heal allows taking the cluster from a run that was killed or left the cluster changed. Found, if not nil, is called with
	// that run.
	Heal  bool
	Found func(dead Holder)
	// Waiting, if not nil, is called before it is waited for a sign of life: the holder that Heal takes a cluster from may run on another machine.
	Waiting func(who Holder)
	// Foreign is set for a cluster that holdfast did not make, and Context is its context in a kubeconfig, for messages.
	Foreign bool
	Context string
	// Namespaces are those in which workloads are changed, in a cluster that holdfast did not make. Who heals it may have no right to list others.
	Namespaces []string
}

// healing is the command that heals the cluster.
func (o Options) healing() string {
	if o.Foreign {
		return "holdfast heal --context " + o.Context
	}
	return "holdfast heal " + o.Cluster
}

// Hold is a cluster that this process holds exclusively. The methods of a nil Hold do nothing.
type Hold struct {
	client  kubernetes.Interface
	options Options

	mu      sync.Mutex
	who     Holder
	inForce bool                  // a fault is: the API server may be away because of it
	renewed time.Time             // when the Lease was last written
	lease   *coordinationv1.Lease // as last written by this process

	wake chan chan error // requests a renewal, and receives its result
	soon chan struct{}   // requests a renewal without waiting for it
	stop context.CancelFunc
	over chan struct{} // closed when renewals have stopped
	lost chan struct{} // closed when the cluster is lost: see Lost
	why  error         // set before lost is closed
}

// Take holds the cluster for this process until Release or Leave. Known errors are *HeldError, *AbandonedError and
// *UnreachableError. If several processes try at the same time, exactly one succeeds.
func Take(ctx context.Context, client kubernetes.Interface, run, command string, o Options) (*Hold, error) {
	h := newHold(client, run, command, o)
	for range 10 { // retry when another process was faster, but not forever
		was, err := look(ctx, client, o)
		if err != nil {
			return nil, err
		}
		l, err := leaseOf(h.who, was, time.Now())
		if err != nil {
			return nil, err
		}
		asked := time.Now()
		now, err := h.put(ctx, l, was)
		if err == nil {
			if was != nil && o.Found != nil {
				dead, _ := holderOf(was) // of a Lease that names none, the unknown one
				o.Found(dead.Holder)
			}
			return h.begin(ctx, now, asked)
		}
		if !outrun(err) { // the Lease may be ours anyway, if only the answer was lost
			return nil, errors.Join(fmt.Errorf("take cluster %s: %w", o.Cluster, err), h.delete(context.WithoutCancel(ctx)))
		}
	}
	return nil, fmt.Errorf("take cluster %s: other processes changed its Lease 10 times in a row", o.Cluster)
}

func newHold(client kubernetes.Interface, run, command string, o Options) *Hold {
	return &Hold{
		client: client, options: o, wake: make(chan chan error), soon: make(chan struct{}, 1), over: make(chan struct{}), lost: make(chan struct{}),
		who: Holder{Run: run, Command: command, Process: process.Self(), Since: time.Now(), Token: rand.Text(), Namespaces: o.Namespaces},
	}
}

// put writes the Lease. It waits for the answer even if ctx has ended, because a Lease that was written unnoticed would stay
// behind.
func (h *Hold) put(ctx context.Context, l, was *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit)
	defer cancel()
	return put(ctx, h.client, l, was)
}

// begin starts renewing the Lease that was written. Renewals continue after the context of Take has ended. With an error nothing is held.
func (h *Hold) begin(ctx context.Context, written *coordinationv1.Lease, asked time.Time) (*Hold, error) {
	h.lease, h.renewed = written, asked
	if err := writeCopy(h.options.Copy, h.who); err != nil {
		return nil, errors.Join(err, h.delete(ctx))
	}
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(h.over)
		h.keep(ctx)
	}()
	return h, nil
}

// Check returns an error if another process uses the cluster, or has left the cluster changed: see Take. It returns nil if the
// cluster is free, as far as is known.
func Check(ctx context.Context, client kubernetes.Interface, o Options) error {
	_, err := look(ctx, client, o)
	return err
}

// CheckCopy is Check without a call to the API server. It only knows about runs on this machine.
func CheckCopy(o Options) error {
	who, there := readCopy(o.Copy)
	switch s := (seen{Holder: who}); {
	case !there:
		return nil
	case s.abandoned(time.Now()):
		return &AbandonedError{o.Cluster, who, o.healing()}
	}
	return &HeldError{o.Cluster, who, o.Foreign}
}

// look is the existing Lease, if it may be taken over. It is nil if there is no Lease.
func look(ctx context.Context, client kubernetes.Interface, o Options) (*coordinationv1.Lease, error) {
	bounded, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	l, err := get(bounded, client)
	var s seen
	switch {
	case err != nil:
		copied, there := readCopy(o.Copy)
		if !there {
			return nil, &UnreachableError{o.Cluster, err, o.healing()}
		}
		s = seen{Holder: copied}
		if s.abandoned(time.Now()) && o.Heal {
			return nil, &UnreachableError{o.Cluster, err, o.healing()}
		}
	case l == nil:
		return nil, nil
	default:
		if s, err = holderOf(l); err != nil && !o.Heal {
			return nil, err
		}
	}
	switch {
	case o.Heal && s.Life() == process.Elsewhere: // the age of the Lease says nothing: the clocks of two machines are not compared
		return l, awaitSilence(ctx, client, s.Holder, o)
	case !s.abandoned(time.Now()):
		return nil, &HeldError{o.Cluster, s.Holder, o.Foreign}
	case !o.Heal:
		return nil, &AbandonedError{o.Cluster, s.Holder, o.healing()}
	}
	return l, nil
}

// Lost is closed when another process has taken the cluster, or may take it, because the Lease could not be written for as long as Silence while no fault
// was in force, in a cluster of holdfast's own. Err then says which.
func (h *Hold) Lost() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.lost
}

// Err says why the cluster is lost. It is valid once Lost is closed.
func (h *Hold) Err() error {
	if h == nil {
		return nil
	}
	return h.why
}

// Mark records in the Lease that a fault is about to be injected. It returns once the API server has stored the record, so that
// the record survives if this process is killed. After 30 s without success Mark returns an error.
func (h *Hold) Mark(ctx context.Context, fault string) error {
	if h == nil {
		return nil
	}
	before := ""
	h.set(func(who *Holder) { before, who.Fault = who.Fault, fault })
	err := poll.Until(ctx, "the Lease of cluster "+h.options.Cluster+" to record the fault "+fault, markLimit, func(ctx context.Context) (bool, string, error) {
		err := h.renewNow(ctx)
		return err == nil, "", err
	})
	if err != nil { // the caller injects nothing
		h.set(func(who *Holder) { who.Fault = before })
		return err
	}
	h.set(func(*Holder) { h.inForce = true })
	return nil
}

// Unmark records that every fault was reverted. It does not wait until the record is written.
func (h *Hold) Unmark() {
	if h == nil {
		return
	}
	h.set(func(who *Holder) { who.Fault, h.inForce = "", false })
	select {
	case h.soon <- struct{}{}:
	default: // a renewal is already pending and will write it
	}
}

// Token distinguishes this hold from every other one. That of a nil Hold is empty.
func (h *Hold) Token() string {
	if h == nil {
		return ""
	}
	return h.who.Token
}

// Confirm returns an error unless the cluster is certainly held by this process now: another process takes it only after Silence. A process that
// was stopped for a while, as by the lid of a laptop, learns here that it has lost the cluster. If the Lease was not written lately, it is written
// now.
func (h *Hold) Confirm(ctx context.Context) error {
	if h == nil {
		return nil
	}
	select {
	case <-h.lost:
		return h.why
	default:
	}
	if since(h.renewedAt()) < fresh {
		return nil
	}
	if err := h.renewNow(ctx); err != nil {
		return fmt.Errorf("confirm that cluster %s is still held: %w", h.options.Cluster, err)
	}
	return nil
}

func (h *Hold) set(change func(*Holder)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	change(&h.who)
}

// Release deletes the Lease, unless another process has taken it.
func (h *Hold) Release(ctx context.Context) error {
	if h == nil {
		return nil
	}
	h.end()
	var taken *takenError
	if errors.As(h.why, &taken) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveLimit)
	defer cancel()
	err := poll.Until(ctx, "the Lease of cluster "+h.options.Cluster+" to be released", giveLimit, func(ctx context.Context) (bool, string, error) {
		err := h.delete(ctx)
		return err == nil, "", err
	})
	if err != nil {
		return err // keep the copy: it is still correct while this process lives
	}
	return removeCopy(h.options.Copy)
}

// Leave stops the renewals and keeps the Lease, which records in left what is wrong with the cluster.
func (h *Hold) Leave(ctx context.Context, left string) error {
	if h == nil {
		return nil
	}
	h.end()
	h.set(func(who *Holder) { who.Left = left })
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveLimit)
	defer cancel()
	// A write error is harmless: once this process has ended, the existing Lease counts as abandoned anyway.
	if err := h.renew(ctx); err != nil {
		slog.Debug("record how the cluster was left", "cluster", h.options.Cluster, "error", err)
	}
	return nil
}

// LeaveHealed stops the renewals and keeps the Lease, which records what this process has undone in place of a run: that run learns from the Lease
// that it has lost the cluster, and the next one that somebody should look at the report.
func (h *Hold) LeaveHealed(ctx context.Context, healed string) error {
	if h == nil {
		return nil
	}
	h.set(func(who *Holder) { who.Healed = healed })
	return h.Leave(ctx, "")
}

// Drop stops the renewals. Use it for a cluster that is being deleted.
func (h *Hold) Drop() {
	if h != nil {
		h.end()
	}
}

// end stops the renewals and waits until they have stopped.
func (h *Hold) end() {
	h.stop()
	<-h.over
}

// delete deletes the Lease if it is still ours.
func (h *Hold) delete(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	l, err := get(ctx, h.client)
	if err != nil || l == nil {
		return err
	}
	if s, err := holderOf(l); err != nil || s.Token != h.who.Token {
		return nil // the Lease belongs to another run
	}
	only := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}}
	if err := h.client.CoordinationV1().Leases(Namespace).Delete(ctx, LeaseName, only); err != nil && !outrun(err) {
		return err
	}
	return nil
}
