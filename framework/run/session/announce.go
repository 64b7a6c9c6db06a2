package session

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// The reasons of the Events on what is disturbed.
const (
	reasonDisturbs = "HoldfastDisturbs"
	reasonUndone   = "HoldfastUndone"
)

// announce tells on an object what is about to be done to it. What cannot be announced is not done (rule 20).
func (i *injection) announce(ctx context.Context, t disturb.Touch) error {
	if slices.Contains(i.announced, t.Object) {
		return nil
	}
	err := i.event(ctx, t.Object, reasonDisturbs, fmt.Sprintf("holdfast run %s does a %s of %s: %s; undone within %s", i.run, i.step.Fault, i.step.Workload, t.Does, i.step.Box.Duration))
	if err != nil {
		return fmt.Errorf("announce on %s what is done to it: %w", t.Object, err)
	}
	i.announced = append(i.announced, t.Object)
	return nil
}

// announceUndone tells on each object but the pods, which are gone, that it is as it was.
func (i *injection) announceUndone(ctx context.Context) {
	for _, o := range i.announced {
		if o.Kind == disturb.KindPod {
			continue
		}
		if err := i.event(ctx, o, reasonUndone, fmt.Sprintf("holdfast run %s has undone its %s of %s", i.run, i.step.Fault, i.step.Workload)); err != nil {
			i.say("  it is undone, and that could not be announced on %s: %v", o, err)
		}
	}
}

// event creates an Event. Those of nodes are in the namespace default, as the kubelets' are.
func (i *injection) event(ctx context.Context, o disturb.Object, reason, note string) error {
	namespace := cmp.Or(o.Namespace, metav1.NamespaceDefault)
	now := metav1.NewTime(time.Now())
	version := "v1"
	if o.Kind == disturb.KindDeployment || o.Kind == disturb.KindStatefulSet {
		version = "apps/v1"
	}
	_, err := i.client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, GenerateName: "holdfast-"},
		InvolvedObject: corev1.ObjectReference{APIVersion: version, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID},
		Reason:         reason, Message: note, Type: corev1.EventTypeNormal, Source: corev1.EventSource{Component: "holdfast"},
		FirstTimestamp: now, LastTimestamp: now, Count: 1, ReportingController: "holdfast.dev/disturb", ReportingInstance: i.run,
	}, metav1.CreateOptions{FieldManager: "holdfast"})
	return err
}
