package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestOffersUnreadyPods(t *testing.T) {
	objects, err := workloads.Backend{}.Objects(place)
	if err != nil {
		t.Fatal(err)
	}
	service := func(name string, edit func(*corev1.ServiceSpec)) []runtime.Object {
		for _, o := range objects {
			if s, is := o.(*corev1.Service); is {
				more := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name}, Spec: *s.Spec.DeepCopy()}
				more.Spec.PublishNotReadyAddresses = true
				edit(&more.Spec)
				return []runtime.Object{more}
			}
		}
		t.Fatal("the backend has no Service")
		return nil
	}
	const evidence = "Service clients sends requests to its pods whether they are ready or not (publishNotReadyAddresses)"
	caught(t, "offers-unready-pods",
		mutant{name: "with an address", more: service("clients", func(*corev1.ServiceSpec) {}), evidence: evidence, caution: "clusterIP None"},
		mutant{name: "of a StatefulSet", statefulSet: true, more: service("clients", func(s *corev1.ServiceSpec) { s.ClusterIP = "10.96.0.9" }), evidence: evidence},
	)
	clean(t,
		mutant{name: "for peers", more: service("peers", func(s *corev1.ServiceSpec) { s.ClusterIP = corev1.ClusterIPNone })},
		mutant{name: "not set", more: service("clients", func(s *corev1.ServiceSpec) { s.PublishNotReadyAddresses = false })},
		mutant{name: "of other pods", more: service("others", func(s *corev1.ServiceSpec) { s.Selector = map[string]string{"app": "other"} })},
		mutant{name: "without a selector", more: service("made-by-hand", func(s *corev1.ServiceSpec) { s.Selector = nil })},
	)
}
