package hold

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// The Lease, in a namespace of ours: `kubectl -n holdfast get lease` shows who uses the cluster.
const (
	Namespace = "holdfast"
	LeaseName = "cluster"
	// holderKey is the annotation that holds a Holder as JSON.
	holderKey = "holdfast.dev/holder"
)

// Duration is how long a holder on another machine may be silent until it counts as gone. It renews the Lease six times as
// often, and a fault may keep the API server away for longer: then the next renewal finds the Lease as it was left.
const (
	Duration   = time.Minute
	renewEvery = Duration / 6
)

// leaseOf writes a holder into a Lease; was is the one that it replaces, nil for a new one.
func leaseOf(who Holder, was *coordinationv1.Lease, now time.Time) (*coordinationv1.Lease, error) {
	text, err := json.Marshal(who)
	if err != nil {
		return nil, fmt.Errorf("write down who holds the cluster: %w", err)
	}
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: LeaseName}}
	if was != nil {
		l = was.DeepCopy()
	}
	if l.Annotations == nil {
		l.Annotations = map[string]string{}
	}
	l.Annotations[holderKey] = string(text)
	identity, seconds := fmt.Sprintf("%s on %s, process %d", who.Run, who.Host, who.PID), int32(Duration/time.Second)
	l.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &identity, LeaseDurationSeconds: &seconds,
		AcquireTime: &metav1.MicroTime{Time: who.Since}, RenewTime: &metav1.MicroTime{Time: now},
	}
	return l, nil
}

// holderOf reads a Lease. One that is not ours to read is held by somebody unknown: that is an error.
func holderOf(l *coordinationv1.Lease) (seen, error) {
	var s seen
	if err := json.Unmarshal([]byte(l.Annotations[holderKey]), &s.Holder); err != nil {
		return s, fmt.Errorf("read who holds the cluster, in the annotation %s of Lease %s/%s: %w", holderKey, Namespace, LeaseName, err)
	}
	if l.Spec.RenewTime != nil {
		s.renewed = l.Spec.RenewTime.Time
	}
	return s, nil
}

// get is the Lease as it is; nil: there is none.
func get(ctx context.Context, client kubernetes.Interface) (*coordinationv1.Lease, error) {
	l, err := client.CoordinationV1().Leases(Namespace).Get(ctx, LeaseName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return l, err
}

// put creates the Lease or, where was is one, replaces exactly that: of two who try at the same time, one is refused.
func put(ctx context.Context, client kubernetes.Interface, l, was *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	leases := client.CoordinationV1().Leases(Namespace)
	if was != nil {
		return leases.Update(ctx, l, metav1.UpdateOptions{})
	}
	made, err := leases.Create(ctx, l, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		return made, err
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace, Labels: map[string]string{"app.kubernetes.io/part-of": "holdfast"}}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, home, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("create namespace %s: %w", Namespace, err)
	}
	return leases.Create(ctx, l, metav1.CreateOptions{})
}

// outrun tells whether somebody else was faster.
func outrun(err error) bool {
	return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err)
}
