package hold

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/process"
)

// The Lease and its namespace: `kubectl -n holdfast get lease` shows who uses the cluster.
const (
	Namespace = "holdfast"
	LeaseName = "cluster"
	// holderKey is the annotation that contains a Holder as JSON.
	holderKey = "holdfast.dev/holder"
	// StopKey is an annotation of the Lease that lets a healer undo everything at once. Its value is the reason:
	//
	//	kubectl -n holdfast annotate lease cluster holdfast.dev/stop="customers complain"
	StopKey = "holdfast.dev/stop"
)

// Silence is how long a holder whose process cannot be checked may be silent before it counts as gone. A holder renews the Lease six times
// meanwhile. A fault may keep the API server away for longer than that. The next renewal then finds the Lease unchanged.
//
// Nobody measures silence by comparing the clocks of two machines: see Watch.
const (
	Silence    = 30 * time.Second
	renewEvery = Silence / 6
	// fresh is how old the last renewal may be for Confirm: what is done then within a few seconds ends before the silence does.
	fresh = Silence / 3
)

// leaseOf builds the Lease for a holder. was is the Lease to replace, nil for a new one.
func leaseOf(who Holder, was *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error) {
	text, err := json.Marshal(who)
	if err != nil {
		return nil, fmt.Errorf("encode the holder of the cluster: %w", err)
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: LeaseName}}
	if was != nil {
		l = was.DeepCopy()
		if before, err := holderOf(was); err != nil || before.Token != who.Token {
			delete(l.Annotations, StopKey) // which was about the run before
		}
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[holderKey] = string(text)
	identity, seconds := fmt.Sprintf("%s on %s, process %d", who.Run, who.Host, who.PID), int32(Silence/time.Second)
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &identity, LeaseDurationSeconds: &seconds,
		AcquireTime: &metav1.MicroTime{Time: who.Since}, RenewTime: &metav1.MicroTime{Time: now},
	}
	return l, nil
}

// unknown stands for the holder of a Lease that names none. Whether it lives, only its silence shows.
var unknown = Holder{Run: "a process that its Lease does not name", Process: process.Process{Host: "an unknown machine"}}

// holderOf parses the holder from a Lease. A Lease without a valid holder is an error, beside the unknown holder.
func holderOf(l *coordinationv1.Lease) (seen, error) {
	var s seen
	if err := json.Unmarshal([]byte(l.Annotations[holderKey]), &s.Holder); err != nil {
		return seen{Holder: unknown}, fmt.Errorf("read who holds the cluster, in the annotation %s of Lease %s/%s: %w", holderKey, Namespace, LeaseName, err)
	}
	if l.Spec.RenewTime != nil {
		s.renewed = l.Spec.RenewTime.Time
	}
	return s, nil
}

// get reads the Lease. It is nil if there is none, and beside an error.
func get(ctx context.Context, client kubernetes.Interface) (*coordinationv1.Lease, error) {
	l, err := answered(client.CoordinationV1().Leases(Namespace).Get(ctx, LeaseName, metav1.GetOptions{}))
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return l, err
}

// answered is what a call has returned, and nil if it failed: client-go returns an empty object then, which looks like a Lease that can be written.
func answered(l *coordinationv1.Lease, err error) (*coordinationv1.Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// put creates the Lease or, if was is not nil, replaces exactly that version. If two processes try at the same time, the API
// server refuses one.
func put(ctx context.Context, client kubernetes.Interface, l, was *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	leases := client.CoordinationV1().Leases(Namespace)
	if was != nil {
		return answered(leases.Update(ctx, l, metav1.UpdateOptions{}))
	}
	made, err := answered(leases.Create(ctx, l, metav1.CreateOptions{}))
	if !apierrors.IsNotFound(err) {
		return made, err
	}
	if err := Home(ctx, client, Namespace); err != nil {
		return nil, err
	}
	return answered(leases.Create(ctx, l, metav1.CreateOptions{}))
}

// outrun reports whether another process changed the Lease first.
func outrun(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
