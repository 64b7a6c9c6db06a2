package environment

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/holdfast-ha/holdfast/framework/base/errtest"
	"github.com/holdfast-ha/holdfast/framework/deploy"
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
		env.client, env.deployed = client, &deploy.Deployment{App: env.Spec.App}
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

type resettable struct{ meta.RESTMapper }

func (resettable) Reset() {}

// A tested workload whose pods Kubernetes does not create ends the wait, with Kubernetes' reason. Pods of another owner with the same labels are none
// of its own, and one that gets its pods in time ends it well.
func TestAWorkloadWithoutPodsEndsTheWait(t *testing.T) {
	for want, gets := range map[string]bool{"": true, "the application does not become ready: Deployment web: 0 of 1 pods ready: Replicas: 0/1: no further pod is created: FailedCreate: exceeded quota: few": false} {
		synctest.Test(t, func(t *testing.T) {
			env, _, _ := newEnvironment(t, quiet().WithDefaults())
			env.Spec.App = &app.App{Namespace: env.namespace, Workloads: []app.Workload{{Controller: workloads.Controller{Name: "web", Kind: workloads.Deployment}, Replicas: 1}}}
			refused := &appsv1.Deployment{
				TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "web"},
				Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: few"}}},
			}
			pod := func(name, kind, owner string) *corev1.Pod {
				p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: new(true)}}}}
				p.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "5d4f"}
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
				return p
			}
			client := fake.NewClientset(pod("stray", "Job", "web"))
			env.client = client
			var err error
			if env.Spec.App.Manifests, err = app.Decode(strings.NewReader("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: "+env.namespace+"}\n"), "web.yaml"); err != nil {
				t.Fatal(err)
			}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
			env.deployed = &deploy.Deployment{App: env.Spec.App, Client: client, Dynamic: dynamicfake.NewSimpleDynamicClient(scheme.Scheme, refused), Mapper: resettable{mapper}}
			if gets {
				go func() {
					time.Sleep(50 * time.Second)
					_ = client.Tracker().Add(pod("web-5d4f-1", "ReplicaSet", "web-5d4f"))
				}()
			}
			began := time.Now()
			errtest.Check(t, env.appReady(t.Context()), want)
			if took := time.Since(began); took < 49*time.Second || took > 63*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
