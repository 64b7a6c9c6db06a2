package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// settleLimit is how long the workload may take to be whole again. The record shows whether it took too long.
const settleLimit = 5 * time.Minute

// settled waits until the workload is whole.
func (i *injection) settled(ctx context.Context) error {
	return poll.Until(ctx, i.step.Workload.String()+" to settle", settleLimit, i.whole)
}

// whole reports whether the workload has as many available pods, of its newest revision, as it wants, and no other.
func (i *injection) whole(ctx context.Context) (bool, string, error) {
	o := i.step.Workload
	var want int32
	var there []int32
	var seen bool
	switch o.Kind {
	case disturb.KindDeployment:
		d, err := i.client.AppsV1().Deployments(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		want, seen = *d.Spec.Replicas, d.Status.ObservedGeneration >= d.Generation
		there = []int32{d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas}
		if ending := d.Status.TerminatingReplicas; ending != nil {
			there = append(there, want+*ending)
		}
	case disturb.KindStatefulSet:
		d, err := i.client.AppsV1().StatefulSets(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		want, seen = *d.Spec.Replicas, d.Status.ObservedGeneration >= d.Generation && d.Status.CurrentRevision == d.Status.UpdateRevision
		there = []int32{d.Status.Replicas, d.Status.CurrentReplicas, d.Status.AvailableReplicas}
	default:
		return false, "", fmt.Errorf("%s is no workload that can be disturbed", o)
	}
	other := slices.ContainsFunc(there, func(n int32) bool { return n != want })
	return seen && !other, fmt.Sprintf("%v of %d", there, want), nil
}
