package audit

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads"
)

func TestNoPreStop(t *testing.T) {
	const evidence = "container backend, which Service backend sends requests to, gets SIGTERM while requests still arrive"
	none := workloads.Backend{PreStop: workloads.NoPreStop}
	caught(t, "no-prestop",
		mutant{name: "none", backend: none, evidence: evidence, caution: "Kubernetes 1.30"},
		mutant{name: "a StatefulSet", backend: none, statefulSet: true, evidence: evidence},
		mutant{
			name: "and no time for one", backend: workloads.Backend{PreStop: workloads.NoPreStop, GracePeriod: 4 * time.Second},
			evidence: evidence, // the patch must not leave a short-grace-period
		},
		mutant{
			name: "the default grace period is enough", backend: none, evidence: evidence,
			harm: func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = nil },
		},
	)
	always := corev1.ContainerRestartPolicyAlways
	// behind lets the Service lead to a proxy, and the backend listen elsewhere behind it.
	behind := func(sidecar bool, proxy, app *corev1.Lifecycle) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			pod := &d.Spec.Template.Spec
			front := corev1.Container{Name: "proxy", Image: "x", Ports: pod.Containers[0].Ports, ReadinessProbe: pod.Containers[0].ReadinessProbe, Lifecycle: proxy}
			pod.Containers[0].Ports, pod.Containers[0].Lifecycle = []corev1.ContainerPort{{ContainerPort: 9999}}, app
			if sidecar {
				front.RestartPolicy, front.Resources = &always, corev1.ResourceRequirements{}
				pod.InitContainers = append(pod.InitContainers, front)
			} else {
				pod.Containers = append(pod.Containers, front)
			}
		}
	}
	sleep := func(seconds int64) *corev1.Lifecycle {
		return &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}}
	}
	drains := &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"wait-for-quiet"}}}}
	const both = "containers proxy and backend, which requests to Service backend pass, get SIGTERM while requests still arrive at proxy"
	const app = "container backend, which requests to Service backend pass, gets SIGTERM while requests still arrive at proxy"
	caught(t, "no-prestop",
		mutant{name: "a proxy, and an application behind it", harm: behind(false, nil, nil), evidence: both},
		mutant{
			name: "a proxy in front of an application that sleeps", harm: behind(false, nil, sleep(20)),
			evidence: "container proxy, which Service backend sends requests to, gets SIGTERM while requests still arrive",
		},
		mutant{name: "a sidecar, and an application behind it", harm: behind(true, nil, nil), evidence: both},
		mutant{name: "a sidecar that sleeps while its application has ended", harm: behind(true, sleep(5), nil), evidence: app},
		mutant{name: "a sidecar that sleeps for longer than its application", harm: behind(true, sleep(20), sleep(5)), evidence: app},
	)
	clean(t,
		mutant{name: "a sidecar, which ends after its application", harm: behind(true, nil, sleep(5))},
		mutant{name: "an application with a hook of unknown duration", harm: behind(true, sleep(5), drains)},
		mutant{name: "a proxy that sleeps, and something with a port beside it", harm: behind(false, sleep(5), nil)},
		mutant{name: "both sleep", harm: behind(false, sleep(5), sleep(5))},
	)
	clean(t, mutant{
		name: "no Service sends it requests", backend: workloads.Backend{PreStop: workloads.NoPreStop, Budget: workloads.NoBudget},
		harm: unserved, more: []runtime.Object{everyPod},
	})
}

// A hook helps where another pod takes the requests while one ends.
func TestNoPreStopWhereNothingElseServes(t *testing.T) {
	one := workloads.Backend{Replicas: 1, PreStop: workloads.NoPreStop}
	update := func(strategy appsv1.DeploymentStrategy) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Strategy = strategy }
	}
	none, all := intstr.FromInt32(0), intstr.FromString("100%")
	for name, test := range map[string]struct {
		m    mutant
		want []string
	}{
		"a StatefulSet":                 {mutant{backend: one, statefulSet: true}, []string{"warning single-replica"}},
		"Recreate":                      {mutant{backend: one, harm: update(appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})}, []string{"error single-replica", "warning recreates-all-pods"}},
		"a rollout without a surge":     {mutant{backend: one, harm: update(appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &none, MaxUnavailable: &all}})}, []string{"error single-replica"}},
		"a rollout with a surge":        {mutant{backend: one}, []string{"error single-replica", "warning no-prestop"}},
		"two replicas of a StatefulSet": {mutant{backend: workloads.Backend{Replicas: 2, PreStop: workloads.NoPreStop}, statefulSet: true}, []string{"warning no-prestop"}},
	} {
		if got := found(t, test.m); !slices.Equal(got, test.want) {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
}

// named gives the port that a Service leads to a name, and leadsTo gives it to the Service.
func named(port string) func(*corev1.PodSpec) {
	return func(p *corev1.PodSpec) {
		p.Containers[0].Ports[0].Name = port
		if ready := p.Containers[0].ReadinessProbe; ready != nil {
			ready.HTTPGet.Port = intstr.FromString(port)
		}
	}
}

func leadsTo(port string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString(port) }
}

// What is asked for metrics alone costs no client a request. A port for clients of the same container does.
func TestMetricsAlone(t *testing.T) {
	careless := func(port string, more ...func(*corev1.Service)) mutant {
		return mutant{
			backend: workloads.Backend{PreStop: workloads.NoPreStop, Readiness: workloads.NoReadiness},
			harm: func(d *appsv1.Deployment) {
				named(port)(&d.Spec.Template.Spec)
				c := &d.Spec.Template.Spec.Containers[0]
				c.Ports = append(c.Ports, corev1.ContainerPort{Name: "api", ContainerPort: 9999})
			},
			service: func(s *corev1.Service) {
				leadsTo(port)(s)
				for _, change := range more {
					change(s)
				}
			},
		}
	}
	second := func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "api", Port: 9999, TargetPort: intstr.FromString("api")})
	}
	notes, warnings := []string{"note no-readiness-probe", "note no-prestop"}, []string{"warning no-readiness-probe", "warning no-prestop"}
	for name, test := range map[string]struct {
		m    mutant
		want []string
	}{
		"metrics": {careless("http-metrics"), notes}, "profiles": {careless("debug"), notes}, "clients": {careless("web"), warnings}, "promotions": {careless("web-promote"), warnings},
		"metrics and clients":  {careless("http-metrics", second), warnings},
		"a Service of metrics": {careless("web", func(s *corev1.Service) { s.Name = "backend-metrics" }), notes},
	} {
		if got := found(t, test.m); !slices.Equal(got, test.want) {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
}
