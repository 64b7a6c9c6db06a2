package environment

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// A DaemonSet is ready when each node that its controller counts has a ready pod; its manifest has no number to compare with.
func TestADaemonSetIsReadyOnAllItsNodes(t *testing.T) {
	for what, test := range map[string]struct {
		wanted int32
		tested string
		err    string
	}{
		"on both nodes":                      {2, "agent", ""},
		"on no node":                         {0, "agent", "DaemonSet agent is scheduled to no node: give its pods a nodeSelector"},
		"on no node, and another is tested":  {0, "web", ""},
		"as many pods as its manifest hints": {1, "agent", ""},
	} {
		env, _, _ := newEnvironment(t, quiet().WithDefaults())
		env.Spec.App, env.backend = &app.App{Workloads: []app.Workload{{Controller: workloads.Controller{Name: "agent", Kind: workloads.DaemonSet}, Replicas: 1}}}, test.tested
		set := &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "agent", Generation: 1},
			Status:     appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: test.wanted},
		}
		client := fake.NewClientset(set)
		for _, name := range []string{"agent-1", "agent-2"} {
			p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			if err := client.Tracker().Add(p); err != nil {
				t.Fatal(err)
			}
		}
		env.client = client
		if err := env.appReady(t.Context()); (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v", what, err)
		}
		set.Generation = 2
		if err := client.Tracker().Update(appsv1.SchemeGroupVersion.WithResource("daemonsets"), set, env.namespace); err != nil {
			t.Fatal(err)
		}
		w := env.Spec.App.Workloads[0]
		if n, err := env.replicas(t.Context(), TargetFor(fault.Target{Namespace: env.namespace, Client: client}, w.Controller), w); err == nil {
			t.Errorf("%s: %d replicas, of a controller that has not looked", what, n)
		}
	}
}
