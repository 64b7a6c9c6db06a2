package deploy

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/observe"
)

// notesEvery is how often Events are read: objects that are awaited are looked at more often.
const notesEvery = 5 * time.Second

// notebook has the Events that were read last, by namespace.
type notebook struct {
	mu    sync.Mutex
	read  map[string]time.Time
	notes map[string][]corev1.Event
}

// notes are Kubernetes' Events of a namespace, in the order in which they happened last.
func (d *Deployment) notes(ctx context.Context, namespace string) ([]corev1.Event, error) {
	n := &d.kept
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Since(n.read[namespace]) < notesEvery {
		return n.notes[namespace], nil
	}
	list, err := observe.Notes(ctx, d.Client, namespace, "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b corev1.Event) int { return happened(a).Compare(happened(b)) })
	if n.read == nil {
		n.read, n.notes = map[string]time.Time{}, map[string][]corev1.Event{}
	}
	n.read[namespace], n.notes[namespace] = time.Now(), list
	return list, nil
}

// happened is when an Event happened last.
func happened(e corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.EventTime.After(last) {
		last = e.EventTime.Time
	}
	if e.Series != nil && e.Series.LastObservedTime.After(last) {
		last = e.Series.LastObservedTime.Time
	}
	return last
}
