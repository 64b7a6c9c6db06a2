package workloads

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Load is the load workers: pods that run `holdfast workload load`, one on the load node and one on each node in AlsoOn. They are bare
// pods because a worker keeps its results in memory: replacing a worker loses evidence, and that must not go unnoticed.
type Load struct {
	// AlsoOn lists nodes that get a worker, too: that node's kube-proxy then distributes the worker's requests to pods.
	AlsoOn    []string  `json:"alsoOn,omitempty"`
	Resources Resources `json:"resources"`
	// Flows lets a worker look up in the connection tracking of its node which pod each connection leads to. It then needs the
	// privileges of the node's root.
	Flows bool `json:"flows,omitempty"`
	// Secrets are the keys of Secrets of the namespace that a worker's requests carry, by the Secret's name. What is not there is not
	// mounted: the worker then says so.
	Secrets map[string][]string `json:"secrets,omitempty"`
	// Spin lets a worker use up its CPU quota now and then, for mutants of the harness.
	Spin bool `json:"spin,omitempty"`
}

// The arguments of a worker; see Load.Flows and Load.Spin.
const (
	LoadFlowsFlag = "--flows"
	LoadSpinFlag  = "--spin"
)

// LoadSecrets is where a worker finds the Secrets: a folder for each, with a file for each key.
const LoadSecrets = "/var/run/holdfast/secrets"

// loadName is the value of LabelName; the pods are load-0, load-1, ...
const loadName = "load"

// loadHealthPath is the path of a load worker's readiness probe.
const loadHealthPath = "/healthz"

// loadGrace is a worker's grace period: when a worker is deleted, its results have been collected already or will never be.
const loadGrace = time.Second

// followFlows gives a worker what it needs to enter the network namespace of its node: it must see the node's processes, and be allowed
// to read what belongs to them.
func followFlows(spec *corev1.PodSpec) {
	root, no := int64(0), false
	spec.HostPID = true
	spec.SecurityContext = nil
	c := &spec.Containers[0]
	c.Args = append(c.Args, LoadFlowsFlag)
	c.SecurityContext = &corev1.SecurityContext{
		RunAsUser: &root, RunAsNonRoot: &no, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined},
		Capabilities: &corev1.Capabilities{
			Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"},
		},
	}
}

// mountSecrets gives a worker the keys that it needs of each Secret, and no other.
func mountSecrets(spec *corev1.PodSpec, secrets map[string][]string) {
	yes := true
	for i, name := range slices.Sorted(maps.Keys(secrets)) {
		source := &corev1.SecretVolumeSource{SecretName: name, Optional: &yes}
		for _, key := range secrets[name] {
			source.Items = append(source.Items, corev1.KeyToPath{Key: key, Path: key})
		}
		volume := "secret-" + strconv.Itoa(i) // a Secret's name may be longer than that of a volume
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{Secret: source}})
		spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{
			Name: volume, MountPath: path.Join(LoadSecrets, name), ReadOnly: true,
		})
	}
}

// WithDefaults sets empty fields to their defaults.
func (l Load) WithDefaults() Load {
	l.Resources = l.Resources.withDefaults("100m", "64Mi", "1Gi") // memory for rows that cannot be collected for minutes
	return l
}

// PodNames of the workers: of the one on the load node, and of those on AlsoOn.
func (l Load) PodNames() []string {
	var names []string
	for i := range 1 + len(l.AlsoOn) {
		names = append(names, loadName+"-"+strconv.Itoa(i))
	}
	return names
}

// Objects are the objects to create, in order. The namespace is not among them.
func (l Load) Objects(at Place) ([]Object, error) {
	l = l.WithDefaults()
	if err := l.Resources.validate(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	template := pod{
		name: loadName, component: ComponentLoad, resources: l.Resources, preStop: NoPreStop, grace: loadGrace,
		readiness: Readiness{}.withDefaults(), readyPath: loadHealthPath,
	}.template(at)
	if l.Spin {
		template.Spec.Containers[0].Args = append(template.Spec.Containers[0].Args, LoadSpinFlag)
	}
	if l.Flows {
		followFlows(&template.Spec)
	}
	mountSecrets(&template.Spec, l.Secrets)
	template.Spec.NodeSelector, template.Spec.Tolerations = onRole(roleLoad), loadTolerations()
	var objects []Object
	for i, name := range l.PodNames() {
		worker := &corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: at.meta(loadName, ComponentLoad),
			Spec: *template.Spec.DeepCopy(),
		}
		worker.Name = name
		if i > 0 {
			worker.Spec.NodeSelector = map[string]string{Host: l.AlsoOn[i-1]}
		}
		objects = append(objects, worker)
	}
	return objects, nil
}
