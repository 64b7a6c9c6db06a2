package deploy

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/observe"
)

// notesEvery is how often Events are read: objects that are awaited are looked at more often.
const notesEvery = 5 * time.Second

// page has the Events of a namespace as they were read.
type page struct {
	at    time.Time
	notes []corev1.Event
}

// notes are Kubernetes' Events of a namespace, in the order in which they happened last.
func (d *Deployment) notes(ctx context.Context, namespace string) ([]corev1.Event, error) {
	if last, has := d.read.Load(namespace); has && time.Since(last.(page).at) < notesEvery {
		return last.(page).notes, nil
	}
	list, err := observe.Notes(ctx, d.Client, namespace, "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b corev1.Event) int { return happened(a).Compare(happened(b)) })
	d.read.Store(namespace, page{time.Now(), list})
	return list, nil
}

// happened is when an Event happened last.
func happened(e corev1.Event) time.Time {
	if e.LastTimestamp.IsZero() { // of those that the scheduler writes
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}
