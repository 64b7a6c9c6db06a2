package workloads

import (
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Descheduler evicts pods that violate their topology spread constraints, so that the scheduler places their replacements:
// the constraints apply only when a pod is scheduled, and nothing else restores the spread. It may evict only in the
// scenario's namespace. Its evictions honour PodDisruptionBudgets.
//
// Source: https://github.com/kubernetes-sigs/descheduler#removepodsviolatingtopologyspreadconstraint
type Descheduler struct {
	// Every is the pause between two rounds, in whole seconds; default 10 s. The Descheduler's own manifest has 5 min.
	Every time.Duration `json:"every,omitempty"`
	// Soft also restores ScheduleAnyway constraints. By default, as in the Descheduler itself, only DoNotSchedule
	// constraints are restored.
	Soft      bool      `json:"soft,omitempty"`
	Resources Resources `json:"resources"`
}

// MetricsServer collects from every kubelet what its pods use, and serves it as metrics.k8s.io, which
// HorizontalPodAutoscalers and VerticalPodAutoscalers read. A cluster can have only one.
type MetricsServer struct {
	// Every is the interval of readings, in whole seconds; default 15 s, which is also metrics-server's default.
	// metrics-server rejects less than 10 s.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// VerticalRecommender reads the containers' usage from a MetricsServer, and writes recommended requests into each
// VerticalPodAutoscaler. It also installs the VerticalPodAutoscaler API. The third program of the VerticalPodAutoscaler, the admission controller, sets
// the resources of new pods; resizing running pods does not need it.
//
// Source: https://github.com/kubernetes/autoscaler/tree/master/vertical-pod-autoscaler
type VerticalRecommender struct {
	// Every is the pause between two readings; default 10 s. The program's own default is 1 min.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// VerticalUpdater resizes pods whose requests differ from the recommendation of a VerticalPodAutoscaler: in place if the
// update mode allows it, otherwise by eviction.
type VerticalUpdater struct {
	// Every is the pause between two rounds; default 10 s. The program's own default is 1 min.
	Every     time.Duration `json:"every,omitempty"`
	Resources Resources     `json:"resources"`
}

// LocalPath makes the volumes that PersistentVolumeClaims ask for: folders of the node on which the first pod with the claim is bound.
// From then on the pod runs on that node only, and waits for it if it is lost.
//
// Source: https://github.com/rancher/local-path-provisioner
type LocalPath struct {
	// Helper is the image of the pods that make and remove the folders, on every node. It needs no shell.
	Helper    string    `json:"helper"`
	Resources Resources `json:"resources"`
}

const (
	// LocalPathProvisioner is the provisioner of StorageClasses whose volumes LocalPath makes.
	LocalPathProvisioner = "rancher.io/local-path"
	// LocalPathFolder is the folder of a node in which the volumes are. In a node that is a container, /var is on the disk of the machine.
	LocalPathFolder = "/var/local-path-provisioner"
)

// Program implements Addon. The Descheduler compares its own version with that of Kubernetes. It expects its version in the
// format of its own builds: a date, here all zeros, and the tag.
func (Descheduler) Program() Program {
	const path, version = "sigs.k8s.io/descheduler", "v0.36.0"
	return Program{
		Name: "descheduler", Module: path, Version: version, Package: path + "/cmd/descheduler",
		LDFlags: "-X " + path + "/pkg/version.version=v00000000-" + version,
	}
}

// Program implements Addon.
func (MetricsServer) Program() Program {
	const path, version = "sigs.k8s.io/metrics-server", "v0.9.0"
	return Program{
		Name: "metrics-server", Module: path, Version: version, Package: path + "/cmd/metrics-server",
		LDFlags: "-X k8s.io/client-go/pkg/version.gitVersion=" + version,
	}
}

// Program implements Addon.
func (VerticalRecommender) Program() Program { return verticalProgram("recommender") }

// Program implements Addon.
func (VerticalUpdater) Program() Program { return verticalProgram("updater") }

func verticalProgram(name string) Program {
	const path = "k8s.io/autoscaler/vertical-pod-autoscaler"
	return Program{Name: name, Module: path, Version: "v1.8.1", Package: path + "/pkg/" + name}
}

// Program implements Addon.
func (LocalPath) Program() Program {
	const path, version = "github.com/rancher/local-path-provisioner", "v0.0.30"
	return Program{Name: "local-path-provisioner", Module: path, Version: version, Package: path, LDFlags: "-X main.VERSION=" + version}
}

// Validate implements Addon.
func (d Descheduler) Validate() error { return d.addon("").validate(time.Second) }

// Validate implements Addon.
func (m MetricsServer) Validate() error { return m.addon("").validate(10 * time.Second) }

// Validate implements Addon.
func (v VerticalRecommender) Validate() error { return v.addon("").validate(time.Second) }

// Validate implements Addon.
func (v VerticalUpdater) Validate() error { return v.addon("").validate(time.Second) }

// Validate implements Addon.
func (l LocalPath) Validate() error {
	if l.Helper == "" {
		return errors.New("local-path-provisioner: no image of its helper pods")
	}
	return l.addon("").validate(0)
}

func (d Descheduler) addon(string) addon {
	defaultTo(&d.Every, 10*time.Second)
	return addon{
		name: d.Program().Name, every: d.Every, resources: d.Resources, port: 10258, readyPath: "/healthz",
		args: []string{"--policy-config-file=/policy/policy.yaml", fmt.Sprintf("--descheduling-interval=%ds", seconds(d.Every)), "--v=2"},
	}
}

func (m MetricsServer) addon(string) addon {
	defaultTo(&m.Every, 15*time.Second)
	return addon{
		name: m.Program().Name, every: m.Every, resources: m.Resources, port: 10250, readyPath: "/readyz",
		args: []string{
			"--cert-dir=/tmp", "--secure-port=10250", "--kubelet-insecure-tls", "--kubelet-preferred-address-types=InternalIP", "--kubelet-use-node-status-port",
			fmt.Sprintf("--metric-resolution=%ds", seconds(m.Every)), "--kubelet-request-timeout=5s", // 10s (default) needs more than 11s between readings
		},
	}
}

// verticalHealth is the path of both programs' health check, over plain HTTP.
const verticalHealth = "/health-check"

func (v VerticalRecommender) addon(namespace string) addon {
	defaultTo(&v.Every, 10*time.Second)
	return addon{
		name: v.Program().Name, every: v.Every, resources: v.Resources, port: 8942, plain: true, readyPath: verticalHealth,
		args: []string{"--recommender-interval=" + v.Every.String(), "--vpa-object-namespace=" + namespace, "--v=2"},
	}
}

func (v VerticalUpdater) addon(namespace string) addon {
	defaultTo(&v.Every, 10*time.Second)
	return addon{
		name: v.Program().Name, every: v.Every, resources: v.Resources, port: 8943, plain: true, readyPath: verticalHealth,
		// By default the updater waits for the status of the admission controller, which is not deployed here.
		args: []string{"--updater-interval=" + v.Every.String(), "--use-admission-controller-status=false", "--vpa-object-namespace=" + namespace, "--v=2"},
	}
}

// addon serves nothing, so its pod has no port and is ready once it runs.
func (l LocalPath) addon(namespace string) addon {
	name := l.Program().Name
	return addon{
		name: name, resources: l.Resources,
		args: []string{
			"start", "--config=/etc/config/config.json", "--helper-pod-file=/etc/config/helperPod.yaml", "--configmap-name=" + name, "--namespace=" + namespace,
			"--service-account-name=" + name, "--helper-image=" + l.Helper, "--provisioner-name=" + LocalPathProvisioner,
		},
	}
}

// Objects implements Addon.
func (d Descheduler) Objects(at Place) ([]Object, error) {
	constraints := []string{string(corev1.DoNotSchedule)}
	if d.Soft {
		constraints = append(constraints, string(corev1.ScheduleAnyway))
	}
	return d.addon(at.Namespace).objects(d, at, "/policy", configOf("descheduler"), "CONSTRAINTS", strings.Join(constraints, ", "))
}

// Objects implements Addon.
func (m MetricsServer) Objects(at Place) ([]Object, error) {
	return m.addon(at.Namespace).objects(m, at, "/tmp", &corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
}

// Objects implements Addon.
func (v VerticalRecommender) Objects(at Place) ([]Object, error) {
	return v.addon(at.Namespace).objects(v, at, "", nil)
}

// Objects implements Addon.
func (v VerticalUpdater) Objects(at Place) ([]Object, error) {
	return v.addon(at.Namespace).objects(v, at, "", nil)
}

// Objects implements Addon.
func (l LocalPath) Objects(at Place) ([]Object, error) {
	return l.addon(at.Namespace).objects(l, at, "/etc/config", configOf(l.Program().Name), "HELPER", l.Helper, "FOLDER", LocalPathFolder)
}

func configOf(name string) *corev1.VolumeSource {
	return &corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}
