package workloads

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MetricsServer collects from every kubelet what its pods use, and serves it as metrics.k8s.io, which
// HorizontalPodAutoscalers and VerticalPodAutoscalers read. A cluster can have only one.
//
// Source: https://github.com/kubernetes-sigs/metrics-server/tree/master/manifests/base
type MetricsServer struct {
	// Every is the interval of readings, in whole seconds; default 15 s, which is also metrics-server's default.
	// metrics-server rejects less than 10 s.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// WithDefaults sets empty fields to their defaults.
func (m MetricsServer) WithDefaults() MetricsServer {
	defaultTo(&m.Every, 15*time.Second)
	m.Resources = m.Resources.withDefaults("20m", "64Mi", "256Mi")
	return m
}

// Validate implements Addon.
func (m MetricsServer) Validate() error {
	m = m.WithDefaults()
	if m.Every < 10*time.Second {
		return fmt.Errorf("metrics-server: a reading every %s: want at least 10s", m.Every)
	}
	if err := m.Resources.validate(); err != nil {
		return fmt.Errorf("metrics-server: %w", err)
	}
	return nil
}

// Program implements Addon.
func (MetricsServer) Program() Program {
	const path, version = "sigs.k8s.io/metrics-server", "v0.9.0"
	return Program{
		Name: "metrics-server", Module: path, Version: version, Package: path + "/cmd/metrics-server",
		LDFlags: "-X k8s.io/client-go/pkg/version.gitVersion=" + version,
	}
}

// metricsPort is the HTTPS port; metrics-server creates its own certificate.
const metricsPort = 10250

// Objects implements Addon. The objects are those of metrics-server's own manifests, without the priority class, which only
// pods in kube-system may use. The kubelets and metrics-server use self-signed certificates, so the certificates are not
// verified in either direction.
func (m MetricsServer) Objects(at Place) ([]Object, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	m = m.WithDefaults()
	const tmp = "/tmp"
	a := addon{
		name: m.Program().Name, port: metricsPort, readyPath: "/readyz", resources: m.Resources,
		args: []string{
			"--cert-dir=" + tmp, fmt.Sprintf("--secure-port=%d", metricsPort), "--kubelet-insecure-tls",
			"--kubelet-preferred-address-types=InternalIP", "--kubelet-use-node-status-port",
			fmt.Sprintf("--metric-resolution=%ds", seconds(m.Every)), "--kubelet-request-timeout=5s", // 10s (default) needs more than 11s between readings
		},
	}
	objects := []Object{a.account(at)}
	objects = append(objects, a.everywhere(at,
		may("", []string{"nodes/metrics"}, "get"), may("", []string{"pods", "nodes"}, "get", "list", "watch"),
	)...)
	objects = append(objects, a.authenticates(at)...)
	deployment := a.deployment(at)
	mount(deployment, tmp, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	return append(objects, a.service(at), deployment, a.serves(at, "metrics.k8s.io", "v1beta1")), nil
}

// authenticates allows the add-on to authenticate and authorize its clients through the API server, as every server of an
// aggregated API must.
//
// Source: https://kubernetes.io/docs/tasks/extend-kubernetes/configure-aggregation-layer/#extension-apiserver-authorizes-the-request
func (a addon) authenticates(at Place) []Object {
	delegator := a.wide(at)
	delegator.Name += "-auth-delegator"
	reader := a.wide(at)
	reader.Namespace = metav1.NamespaceSystem
	return []Object{
		&rbacv1.ClusterRoleBinding{
			TypeMeta: rbacKind("ClusterRoleBinding"), ObjectMeta: delegator, Subjects: a.subjects(at),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:auth-delegator"},
		},
		&rbacv1.RoleBinding{
			TypeMeta: rbacKind("RoleBinding"), ObjectMeta: reader, Subjects: a.subjects(at),
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "extension-apiserver-authentication-reader"},
		},
	}
}

// apiServicePort is the default port of the Service behind an APIService.
const apiServicePort = 443

func (a addon) service(at Place) *corev1.Service {
	name, _ := a.portOf()
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: a.meta(at),
		Spec: corev1.ServiceSpec{
			Selector: selector(a.name).MatchLabels,
			Ports: []corev1.ServicePort{{
				Name: name, Port: apiServicePort, TargetPort: intstr.FromString(name), Protocol: corev1.ProtocolTCP,
			}},
		},
	}
}

// serves makes the API server forward a version of an API group to the add-on's Service. It is unstructured because its Go
// type is in a module that nothing else here needs.
func (a addon) serves(at Place, group, version string) Object {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": group, "version": version, "groupPriorityMinimum": int64(100), "versionPriority": int64(100),
		"insecureSkipTLSVerify": true,
		"service":               map[string]any{"name": a.name, "namespace": at.Namespace, "port": int64(apiServicePort)},
	}}}
	o.SetAPIVersion("apiregistration.k8s.io/v1")
	o.SetKind("APIService")
	o.SetName(version + "." + group)
	o.SetLabels(a.meta(at).Labels)
	return o
}
