package workloads

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Load is the load workers: an Indexed Job whose pods run `holdfast workload load`. A pod's completion index is the worker's number. A
// worker ends when its rows are collected. One that fails is never replaced, and the others go on: another worker would not have its
// rows, and the lost ones must not go unnoticed.
type Load struct {
	// Workers is how many there are; default 1, and one more for each node of AlsoOn.
	Workers int `json:"workers,omitempty"`
	// AlsoOn lists nodes that get workers besides the load node, in equal numbers: a node's kube-proxy distributes the requests of the
	// workers on it to pods.
	AlsoOn []string `json:"alsoOn,omitempty"`
	// Anywhere is for a cluster without a load node: the workers are spread over its nodes as far as possible, but for those in NotOn,
	// which are to be disturbed.
	Anywhere bool     `json:"anywhere,omitempty"`
	NotOn    []string `json:"notOn,omitempty"`
	// Deadline is when the cluster ends the workers even if nobody collects their rows; default DefaultLoadDeadline.
	Deadline time.Duration `json:"deadline,omitempty"`
	// Spill is how much of a node's disk each worker may use for rows that its memory has no room for; default 1Gi.
	Spill     string    `json:"spill,omitempty"`
	Resources Resources `json:"resources"`
	// Flows lets a worker look up in the connection tracking of its node which pod each connection leads to. It then needs the
	// privileges of the node's root.
	Flows bool `json:"flows,omitempty"`
	// Secrets are the keys of Secrets of the namespace that a worker's requests carry, by the Secret's name. What is not there is not
	// mounted: the worker then says so.
	Secrets map[string][]string `json:"secrets,omitempty"`
	// TokenSum is that of the token with which each call of a worker begins. The token itself is not in the pod.
	TokenSum string `json:"-"`
	// Spin lets a worker use up its CPU quota now and then, for mutants of the harness.
	Spin bool `json:"spin,omitempty"`
}

// The arguments of a worker; see Load.Flows, Load.Spin and Load.Spill.
const (
	LoadFlowsFlag = "--flows"
	LoadSpinFlag  = "--spin"
	LoadSpillFlag = "--spill-bytes=" // followed by how many bytes LoadSpillDir may hold
)

// EnvTokenSum is an environment variable of a worker with Load.TokenSum.
const EnvTokenSum = "HOLDFAST_TOKEN_SHA256"

// LoadSecrets is where a worker finds the Secrets: a folder for each, with a file for each key.
const LoadSecrets = "/var/run/holdfast/secrets"

// LoadSpillDir is where a worker puts rows that its memory has no room for.
const LoadSpillDir = "/var/lib/holdfast/segments"

// LoadName is the name of the Job, and the value of LabelName. Its pods are load-0-x, load-1-x, ...
const LoadName = "load"

const (
	// DefaultLoadDeadline is many times as long as a scenario takes.
	DefaultLoadDeadline = 2 * time.Hour
	// loadTTL is how long the logs of workers that have ended can be read.
	loadTTL = time.Hour
)

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
	l.Workers = max(l.Workers, 1+len(l.AlsoOn))
	l.Deadline = cmp.Or(l.Deadline, DefaultLoadDeadline)
	defaultTo(&l.Spill, "1Gi")
	return l
}

func (l Load) validate() error {
	spill, err := resource.ParseQuantity(l.Spill)
	switch {
	case err != nil || spill.Sign() <= 0:
		return errors.Join(fmt.Errorf("spill: %q is no size of a disk", l.Spill), err)
	case l.Deadline < time.Second:
		return fmt.Errorf("a deadline of %s ends the workers before they begin", l.Deadline)
	case l.Anywhere && len(l.AlsoOn) > 0:
		return errors.New("workers anywhere, and on nodes besides the load node")
	case !l.Anywhere && len(l.NotOn) > 0:
		return errors.New("workers not on some nodes, and on the load node")
	}
	return l.Resources.validate()
}

// Objects are the objects to create, in order. The namespace is not among them.
func (l Load) Objects(at Place) ([]Object, error) {
	l = l.WithDefaults()
	if err := l.validate(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	template := pod{
		name: LoadName, component: ComponentLoad, resources: l.Resources, preStop: NoPreStop, grace: loadGrace,
		readiness: Readiness{}.withDefaults(), readyPath: loadHealthPath,
	}.template(at)
	if l.Spin {
		template.Spec.Containers[0].Args = append(template.Spec.Containers[0].Args, LoadSpinFlag)
	}
	if l.Flows {
		followFlows(&template.Spec)
	}
	if l.TokenSum != "" {
		c := &template.Spec.Containers[0]
		c.Env = append(c.Env, corev1.EnvVar{Name: EnvTokenSum, Value: l.TokenSum})
	}
	mountSecrets(&template.Spec, l.Secrets)
	l.mountSpill(&template.Spec)
	l.place(&template.Spec)
	undisturbed(&template.ObjectMeta)
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return []Object{l.job(at.meta(LoadName, ComponentLoad), template)}, nil
}

// job never starts a pod again. With a backoffLimit of 0 in place of that per index, one worker that fails would end all others.
//
// Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/#backoff-limit-per-index
func (l Load) job(meta metav1.ObjectMeta, template corev1.PodTemplateSpec) *batchv1.Job {
	workers, never, indexed := int32(l.Workers), int32(0), batchv1.IndexedCompletion
	deadline, ttl := seconds(l.Deadline), int32(seconds(loadTTL))
	return &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: meta,
		Spec: batchv1.JobSpec{
			CompletionMode: &indexed, Completions: &workers, Parallelism: &workers, BackoffLimitPerIndex: &never,
			ActiveDeadlineSeconds: &deadline, TTLSecondsAfterFinished: &ttl, Template: template,
		},
	}
}

// mountSpill gives a worker a part of its node's disk. The kubelet evicts a pod that uses more than it may, so the worker is told less.
func (l Load) mountSpill(spec *corev1.PodSpec) {
	size := resource.MustParse(l.Spill)
	spec.Volumes = append(spec.Volumes, corev1.Volume{
		Name: "spill", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &size}},
	})
	c := &spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "spill", MountPath: LoadSpillDir})
	c.Args = append(c.Args, LoadSpillFlag+strconv.FormatInt(size.Value()/4*3, 10))
}

// place says on which nodes workers may be, and spreads them.
func (l Load) place(spec *corev1.PodSpec) {
	spread := Spread{Key: Host, MatchLabelKeys: []string{}}
	var terms []corev1.NodeSelectorTerm
	switch {
	case l.Anywhere:
		spread.Unsatisfiable = corev1.ScheduleAnyway
		if len(l.NotOn) > 0 {
			terms = append(terms, onNodes(Host, corev1.NodeSelectorOpNotIn, l.NotOn...))
		}
	default:
		spec.Tolerations = loadTolerations()
		terms = append(terms, onNodes(labelRole, corev1.NodeSelectorOpIn, roleLoad))
		if len(l.AlsoOn) > 0 {
			terms = append(terms, onNodes(Host, corev1.NodeSelectorOpIn, l.AlsoOn...))
		}
	}
	if len(terms) > 0 {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
		}}
	}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread.constraint(LoadName)}
}

func onNodes(label string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label, Operator: operator, Values: values}}}
}

// undisturbed keeps autoscalers from moving a pod, and meshes from putting a proxy into it: a proxy would retry, keep connections and
// answer in the place of the server, and what is measured would be the proxy.
func undisturbed(meta *metav1.ObjectMeta) {
	meta.Labels["sidecar.istio.io/inject"] = "false"
	meta.Annotations = map[string]string{
		"karpenter.sh/do-not-disrupt":                    "true",
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
		"sidecar.istio.io/inject":                        "false", // which older versions of Istio read
		"linkerd.io/inject":                              "disabled",
	}
}
