package audit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

var noReadiness = workloads.Backend{Readiness: workloads.NoReadiness}

// unserved gives a workload's pods labels that no Service selects.
func unserved(d *appsv1.Deployment) {
	called := map[string]string{workloads.LabelName: "worker"}
	d.Spec.Selector.MatchLabels, d.Spec.Template.Labels = called, called
	for i := range d.Spec.Template.Spec.TopologySpreadConstraints {
		d.Spec.Template.Spec.TopologySpreadConstraints[i].LabelSelector = &metav1.LabelSelector{MatchLabels: called}
	}
}

var everyPod = budget(shop, "everybody", &metav1.LabelSelector{})

func TestNoReadinessProbe(t *testing.T) {
	const evidence = "container backend, which Service backend sends requests to, has no readinessProbe"
	sidecar := func(d *appsv1.Deployment) {
		always := corev1.ContainerRestartPolicyAlways
		pod := &d.Spec.Template.Spec
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(15021)}}}
		pod.InitContainers = []corev1.Container{
			{Name: "prepare", Image: "x"}, {Name: "proxy", Image: "x", RestartPolicy: &always, ReadinessProbe: probe},
		}
	}
	caught(t, "no-readiness-probe",
		mutant{name: "none", backend: noReadiness, evidence: evidence, caution: "only checks that the port accepts connections"},
		mutant{name: "a StatefulSet", backend: noReadiness, evidence: evidence, statefulSet: true},
		mutant{name: "only a sidecar's", backend: noReadiness, evidence: evidence, harm: sidecar},
		mutant{
			name: "a port that is not declared", backend: noReadiness, evidence: "container backend, which Service web sends requests to, has no readinessProbe",
			more: []runtime.Object{service("web", intstr.FromInt32(9000), corev1.ProtocolTCP)},
			harm: func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports = nil },
		},
		mutant{
			name: "UDP", backend: noReadiness, evidence: "container backend, which Service dns sends requests to, has no readinessProbe",
			more:    []runtime.Object{service("dns", intstr.FromInt32(53), corev1.ProtocolUDP)},
			harm:    func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Ports = nil },
			caution: "a TCP check of a UDP port does not", steps: -1,
		},
		mutant{
			name: "no Service sends it requests", backend: workloads.Backend{Readiness: workloads.NoReadiness, Budget: workloads.NoBudget},
			harm: unserved, more: []runtime.Object{everyPod}, severity: Note, steps: -1,
			evidence: "none of its containers has a readinessProbe", caution: "no patch can know",
		},
	)
	clean(t,
		mutant{
			name: "a Service for peers, which publishes pods that are not ready", harm: func(d *appsv1.Deployment) {
				unserved(d)
				d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "other"})
			},
			backend: workloads.Backend{Budget: workloads.NoBudget}, more: []runtime.Object{everyPod, func() *corev1.Service {
				s := service("peers", intstr.FromInt32(7000), corev1.ProtocolTCP)
				s.Spec.Selector, s.Spec.PublishNotReadyAddresses = map[string]string{workloads.LabelName: "worker"}, true
				s.Spec.ClusterIP = corev1.ClusterIPNone
				return s
			}()},
		},
		mutant{
			name: "another namespace's Service", backend: workloads.Backend{Readiness: workloads.NoReadiness, Budget: workloads.NoBudget},
			harm: func(d *appsv1.Deployment) {
				unserved(d)
				d.Spec.Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
				d.Spec.Template.Spec.Containers[0].Lifecycle = nil
			},
			more: []runtime.Object{everyPod, func() *corev1.Service {
				s := service("web", intstr.FromInt32(7000), corev1.ProtocolTCP)
				s.Namespace, s.Spec.Selector = "other", map[string]string{workloads.LabelName: "worker"}
				return s
			}()},
		},
	)
}

// service returns a Service that selects the backend's pods.
func service(name string, target intstr.IntOrString, protocol corev1.Protocol) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{workloads.LabelName: "backend"},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: target, Protocol: protocol}},
		},
	}
}

// TestLeadsTo checks which container a Service's port leads to.
func TestLeadsTo(t *testing.T) {
	web := corev1.Container{Name: "web", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {ContainerPort: 9090}}}
	log := corev1.Container{Name: "log"}
	for _, test := range []struct {
		name       string
		containers []corev1.Container
		port       corev1.ServicePort
		want, at   string // empty: cannot be told
	}{
		{"by name", []corev1.Container{log, web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}, "web", "http"},
		{"by number", []corev1.Container{log, web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(9090)}, "web", "9090"},
		{"by a number that has a name", []corev1.Container{web}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromInt32(8080)}, "web", "http"},
		{"by the Service's own number", []corev1.Container{web}, corev1.ServicePort{Port: 9090}, "web", "9090"},
		{"not declared, by the only one", []corev1.Container{log}, corev1.ServicePort{Port: 80}, "log", "80"},
		{"not declared, by one of two", []corev1.Container{log, web}, corev1.ServicePort{Port: 80}, "", ""},
		{"a name that no port has", []corev1.Container{log}, corev1.ServicePort{Port: 80, TargetPort: intstr.FromString("http")}, "", ""},
	} {
		s := subject{Workload: &Workload{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: test.containers}}}}
		got, ok := s.leadsTo(test.port)
		if ok != (test.want != "") || ok && (got.Name != test.want || got.port.String() != test.at || !got.tcp) {
			t.Errorf("%s: %v %+v", test.name, ok, got)
		}
	}
}
