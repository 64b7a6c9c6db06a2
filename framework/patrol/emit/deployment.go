package emit

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Resources of the patrol's pod, from the benchmark of package patrol with 5,000 pods. The limit leaves room for a larger cluster; the
// CPU has none, because a patrol that is throttled is only late.
var (
	cpuRequest    = resource.MustParse("50m")
	memoryRequest = resource.MustParse("128Mi")
	memoryLimit   = resource.MustParse("256Mi")
)

// softLimit is the value of GOMEMLIMIT: near it, Go's garbage collector works harder instead of growing. The pages of the program itself
// come on top, some 50 MB.
const softLimit = "80MiB"

// user is the unprivileged user that the patrol runs as.
const user = 65532

// grace is longer than the patrol takes to answer what it was asked, in seconds.
const grace = 10

// deployment has one pod, which is replaced only when the next has read the cluster once.
func (o Options) deployment() any {
	one, none, replicas := intstr.FromInt32(1), intstr.FromInt32(0), int32(1)
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: o.meta(),
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: selector()},
			Strategy: appsv1.DeploymentStrategy{
				Type:          appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &one, MaxUnavailable: &none},
			},
			Template: o.template(),
		},
	}
}

// template complies with Pod Security's restricted level.
func (o Options) template() corev1.PodTemplateSpec {
	yes, no, id, ends := true, false, int64(user), int64(grace)
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels()}}
	if o.Plain { // a convention of many scrape configurations
		t.Annotations = map[string]string{"prometheus.io/scrape": "true", "prometheus.io/port": "9090"}
	}
	t.Spec = corev1.PodSpec{
		ServiceAccountName: name, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &ends,
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &id, RunAsGroup: &id, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
		Containers: []corev1.Container{{
			Name: component, Image: o.Image, ImagePullPolicy: corev1.PullIfNotPresent, Args: o.args(),
			Env:   []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: softLimit}},
			Ports: []corev1.ContainerPort{{Name: portName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: cpuRequest, corev1.ResourceMemory: memoryRequest},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: memoryLimit},
			},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			},
			LivenessProbe: probe("/healthz", 30), ReadinessProbe: probe("/readyz", 5),
		}},
	}
	return t
}

func probe(path string, everySeconds int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(portName), Scheme: corev1.URISchemeHTTP}},
		PeriodSeconds: everySeconds, TimeoutSeconds: 5, SuccessThreshold: 1, FailureThreshold: 3,
	}
}

// service leads to the page, and is what a ServiceMonitor selects.
func (o Options) service() any {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: o.meta(),
		Spec: corev1.ServiceSpec{
			Selector: selector(),
			Ports:    []corev1.ServicePort{{Name: portName, Port: port, TargetPort: intstr.FromString(portName), Protocol: corev1.ProtocolTCP}},
		},
	}
}
