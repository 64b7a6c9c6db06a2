package workloads

import (
	"cmp"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// userID is the user that servers run as: an unprivileged one.
const userID = 65532

// pod is what distinguishes one server's pods from another's.
type pod struct {
	name, component string
	args            []string // appended to `holdfast workload` and the component
	resources       Resources
	revision        string
	preStop         time.Duration // negative: none
	grace           time.Duration
	readiness       Readiness
	readyPath       string
	stateful        bool   // belongs to a StatefulSet
	account         string // the service account, for a pod that talks to the API server
	resizeRestarts  bool   // a CPU resize restarts the container
}

// template complies with Pod Security's restricted level.
func (p pod) template(at Place) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(p.name, p.component)}}
	if p.revision != "" {
		t.Annotations = map[string]string{annotationRevision: p.revision}
	}
	grace, user, yes, no := seconds(p.grace), int64(userID), true, false
	t.Spec = corev1.PodSpec{
		Containers:                    []corev1.Container{p.container(at)},
		TerminationGracePeriodSeconds: &grace,
		AutomountServiceAccountToken:  &no,
		EnableServiceLinks:            &no, // environment variables for the namespace's other Services are not needed
		SecurityContext: &corev1.PodSecurityContext{
			RunAsNonRoot: &yes, RunAsUser: &user, RunAsGroup: &user,
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	if p.account != "" {
		t.Spec.ServiceAccountName, t.Spec.AutomountServiceAccountToken = p.account, &yes
	}
	return t
}

// annotationRevision changes the pod template, and with it the pod-template-hash of the revision.
const annotationRevision = "holdfast.dev/revision"

func (p pod) container(at Place) corev1.Container {
	yes, no := true, false
	c := corev1.Container{
		Name: p.component, Image: at.Image, ImagePullPolicy: cmp.Or(at.Pull, corev1.PullNever),
		Args:      append([]string{"workload", p.component}, p.args...),
		Env:       p.env(at),
		Ports:     []corev1.ContainerPort{{Name: portName, ContainerPort: Port, Protocol: corev1.ProtocolTCP}},
		Resources: p.resources.requirements(),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, ReadOnlyRootFilesystem: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		ReadinessProbe: p.readiness.probe(p.readyPath),
	}
	if p.resizeRestarts {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceCPU, RestartPolicy: corev1.RestartContainer}}
	}
	if p.preStop > 0 {
		c.Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds(p.preStop)}},
		}
	}
	return c
}

// env tells a server its identity and limits its resource usage: 20 servers share two cores and a few GiB.
func (p pod) env(at Place) []corev1.EnvVar {
	from := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}
	}
	env := []corev1.EnvVar{
		{Name: backend.EnvPod, ValueFrom: from("metadata.name")},
		{Name: backend.EnvNode, ValueFrom: from("spec.nodeName")},
	}
	if p.component == ComponentBackend {
		revision := appsv1.DefaultDeploymentUniqueLabelKey
		if p.stateful {
			revision = appsv1.ControllerRevisionHashLabelKey
		}
		env = append(env, corev1.EnvVar{Name: backend.EnvRevision, ValueFrom: from("metadata.labels['" + revision + "']")},
			corev1.EnvVar{Name: backend.EnvZones, Value: at.zoneList()})
	}
	if p.component != ComponentLoad { // the load worker has a node to itself and must not be late
		env = append(env, corev1.EnvVar{Name: "GOMAXPROCS", Value: "2"})
	}
	return append(env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(p.resources.softLimit(), 10)})
}

// seconds rounds a duration up to whole seconds: rounded down, half a second would be no sleep at all.
func seconds(span time.Duration) int64 { return int64((span + time.Second - 1) / time.Second) }

// probe is frequent enough to notice an outage of one second.
func (r Readiness) probe(path string) *corev1.Probe {
	if r.Off {
		return nil
	}
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(portName), Scheme: corev1.URISchemeHTTP},
		},
		PeriodSeconds: int32(seconds(r.Period)), FailureThreshold: r.FailureThreshold,
		TimeoutSeconds: probeTimeoutSeconds, SuccessThreshold: 1,
	}
}
