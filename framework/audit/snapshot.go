package audit

import (
	"regexp"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Resource is an API resource that rules need to have been listed.
type Resource string

// The resources that are read.
const (
	Namespaces     Resource = "namespaces"
	Deployments    Resource = "deployments"
	StatefulSets   Resource = "statefulsets"
	ReplicaSets    Resource = "replicasets"
	Pods           Resource = "pods"
	Nodes          Resource = "nodes"
	Budgets        Resource = "poddisruptionbudgets"
	Services       Resource = "services"
	EndpointSlices Resource = "endpointslices"
	ConfigMaps     Resource = "configmaps"
	Quotas         Resource = "resourcequotas"
	Autoscalers    Resource = "horizontalpodautoscalers"
)

// Cluster is what Read read of a cluster. It is plain data, so a test can construct one.
type Cluster struct {
	// Taken is when the reading began.
	Taken     time.Time
	Workloads []Workload
	Nodes     []corev1.Node // with the fields that rules need
	Budgets   []policyv1.PodDisruptionBudget
	Services  []corev1.Service
	Slices    []discoveryv1.EndpointSlice
	// ConfigMaps are those that a workload's template names.
	ConfigMaps  []corev1.ConfigMap
	Quotas      []corev1.ResourceQuota
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	// Idle are workloads that are not audited: those that want no replica.
	Idle []Workload
	// Unread are the resources that could not be listed.
	Unread []Unread
}

// Unread is a resource that could not be listed, in one namespace; an empty namespace means all of them.
type Unread struct {
	Resource  Resource
	Namespace string
	Why       string
}

// Workload is a Deployment or a StatefulSet that wants at least one replica.
type Workload struct {
	Kind      string // Deployment or StatefulSet
	Namespace string
	Name      string
	UID       types.UID
	Replicas  int
	Selector  *metav1.LabelSelector
	Template  corev1.PodTemplateSpec
	Update    Update
	// Claims: its pods have or share volumes that may be tied to a zone or a node.
	Claims bool
	// Pods are the workload's own pods that have not ended.
	Pods []Pod
}

// GetNamespace returns the workload's namespace.
func (w *Workload) GetNamespace() string { return w.Namespace }

// Pod is what rules need of a pod: a hundredth of its size, which counts where thousands are kept.
type Pod struct {
	Name   string
	Labels map[string]string
	Node   string // empty: none yet
	Going  bool   // it is being deleted
	// Unschedulable is since when the scheduler has had no node for it, and Said why; zero: it has one, or has not tried.
	Unschedulable time.Time
	Said          string
}

// The kinds of workloads.
const (
	Deployment  = "Deployment"
	StatefulSet = "StatefulSet"
)

// The kinds of other objects that findings are about, or that steps change.
const (
	kindBudget     = "PodDisruptionBudget"
	kindAutoscaler = "HorizontalPodAutoscaler"
)

// Update is how a workload replaces its pods when its template changes.
type Update struct {
	Rolling bool // otherwise all at once (Recreate), or when a pod is deleted (OnDelete)
	// ByHand says what a user must do before pods are replaced: delete them, or resume the rollout. Empty: nothing.
	ByHand string
	// MaxSurge and MaxUnavailable of a rolling Deployment, in pods.
	MaxSurge, MaxUnavailable int
}

// Only leaves the workloads of a name to be audited. Budgets may cover the others.
func (c *Cluster) Only(name string) {
	var left []Workload
	for _, w := range c.Workloads {
		if w.Name == name {
			left = append(left, w)
		} else {
			c.Idle = append(c.Idle, w)
		}
	}
	c.Workloads = left
}

// unread reports whether a resource could not be listed in a namespace.
func (c *Cluster) unread(r Resource, namespace string) bool {
	return slices.ContainsFunc(c.Unread, func(u Unread) bool { return u.Resource == r && (u.Namespace == "" || u.Namespace == namespace) })
}

// deployment returns a Deployment as a Workload, without its pods.
func deployment(d *appsv1.Deployment) Workload {
	w := Workload{
		Kind: Deployment, Namespace: d.Namespace, Name: d.Name, UID: d.UID, Replicas: replicas(d.Spec.Replicas),
		Selector: d.Spec.Selector, Template: d.Spec.Template, Claims: claims(d.Spec.Template.Spec),
	}
	w.Update.Rolling = d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType
	if rolling := d.Spec.Strategy.RollingUpdate; w.Update.Rolling && rolling != nil {
		w.Update.MaxSurge = share(rolling.MaxSurge, w.Replicas, true)
		w.Update.MaxUnavailable = share(rolling.MaxUnavailable, w.Replicas, false)
	} else if w.Update.Rolling { // the API's defaults
		quarter := intstr.FromString("25%")
		w.Update.MaxSurge, w.Update.MaxUnavailable = share(&quarter, w.Replicas, true), share(&quarter, w.Replicas, false)
	}
	if w.Update.Rolling && w.Update.MaxSurge == 0 && w.Update.MaxUnavailable == 0 {
		w.Update.MaxUnavailable = 1 // as the controller does: 25 % of 3 rounds down to 0, which must not block the rollout
	}
	if d.Spec.Paused {
		w.Update.ByHand = "its rollout is paused: kubectl rollout resume applies the change"
	}
	return w
}

// statefulSet returns a StatefulSet as a Workload, without its pods.
func statefulSet(s *appsv1.StatefulSet) Workload {
	w := Workload{
		Kind: StatefulSet, Namespace: s.Namespace, Name: s.Name, UID: s.UID, Replicas: replicas(s.Spec.Replicas),
		Selector: s.Spec.Selector, Template: s.Spec.Template,
		Claims: len(s.Spec.VolumeClaimTemplates) > 0 || claims(s.Spec.Template.Spec),
	}
	w.Update.Rolling = s.Spec.UpdateStrategy.Type != appsv1.OnDeleteStatefulSetStrategyType
	if !w.Update.Rolling {
		w.Update.ByHand = "its pods are replaced only when they are deleted (OnDelete)"
	}
	return w
}

// replicas returns the wanted number of replicas; the API's default is 1.
func replicas(wanted *int32) int {
	return int(ptr.Deref(wanted, 1))
}

func share(value *intstr.IntOrString, total int, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(value, total, up)
	if err != nil { // the API rejects invalid values; nil is 0
		return 0
	}
	return n
}

// claims reports whether a pod has volumes of claims, or keeps data in a folder of its node.
func claims(pod corev1.PodSpec) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil || v.HostPath != nil && !ofSystem.MatchString(v.HostPath.Path) && written(pod, v.Name)
	})
}

// ofSystem are the folders of a node in which no server keeps its data.
var ofSystem = regexp.MustCompile(`^/(dev|etc|lib|proc|run|sys|usr|var/(log|run))(/|$)|\.sock$`)

// written reports whether a container may write to a volume.
func written(pod corev1.PodSpec, volume string) bool {
	return slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volume && !m.ReadOnly })
	})
}

// configMapsOf returns the names of the ConfigMaps that the pods of a template use.
func configMapsOf(template corev1.PodTemplateSpec) (names []string) {
	for _, c := range workloads.ConfigsOf(template) {
		if c.Kind == "ConfigMap" {
			names = append(names, c.Name)
		}
	}
	return names
}

// container is a container with its place in the pod template.
type container struct {
	*corev1.Container
	list  string // containers or initContainers
	index int
}

// containersOf returns a pod's containers, init containers included.
func containersOf(pod corev1.PodSpec) (all []container) {
	for i := range pod.Containers {
		all = append(all, container{&pod.Containers[i], "containers", i})
	}
	for i := range pod.InitContainers {
		all = append(all, container{&pod.InitContainers[i], "initContainers", i})
	}
	return all
}

// running returns the containers that run as long as the pod does, sidecars included.
func running(pod corev1.PodSpec) (all []container) {
	for _, c := range containersOf(pod) {
		always := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if c.list == "containers" || always {
			all = append(all, c)
		}
	}
	return all
}

// slimPod returns what rules need of a pod.
func slimPod(p *corev1.Pod) Pod {
	slim := Pod{Name: p.Name, Labels: p.Labels, Node: p.Spec.NodeName, Going: p.DeletionTimestamp != nil}
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			slim.Unschedulable, slim.Said = c.LastTransitionTime.Time, c.Message
		}
	}
	return slim
}

// slimNode returns what rules need of a node. Most of a node's size is the list of its images.
func slimNode(n *corev1.Node) corev1.Node {
	return corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels},
		Spec:       corev1.NodeSpec{Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable},
		Status:     corev1.NodeStatus{Addresses: n.Status.Addresses},
	}
}

// Unsettled reports whether an earlier finding of this rule on this workload may still be true, although the report does not have it: the
// rule could not be applied, and the workload was not seen to be gone. The report must be of this cluster.
func (r Report) Unsettled(c *Cluster, rule, namespace, kind, name string) bool {
	covered := slices.ContainsFunc(r.NotChecked, func(n NotChecked) bool {
		return slices.Contains(n.Rules, rule) && n.covers(namespace, kind, name)
	})
	return covered && (c.workload(namespace, kind, name) || c.unlisted(namespace, kind))
}

// covers reports whether a workload was not checked for this reason. Of a budget, each kind of workloads may be what it covers.
func (n NotChecked) covers(namespace, kind, name string) bool {
	return (n.Namespace == "" || n.Namespace == namespace) && (n.Kind == "" || n.Kind == kind || kind == kindBudget) && (n.Name == "" || n.Name == name)
}

// workload reports whether a workload, or a budget, was read.
func (c *Cluster) workload(namespace, kind, name string) bool {
	return slices.ContainsFunc(c.Workloads, func(w Workload) bool {
		return w.Name == name && w.Namespace == namespace && w.Kind == kind
	}) || kind == kindBudget && slices.ContainsFunc(c.Budgets, func(b policyv1.PodDisruptionBudget) bool { return b.Name == name && b.Namespace == namespace })
}

// unlisted reports whether the workloads of a kind could not be read in a namespace.
func (c *Cluster) unlisted(namespace, kind string) bool {
	return kind == Deployment && c.unread(Deployments, namespace) || kind == StatefulSet && c.unread(StatefulSets, namespace) ||
		kind == kindBudget && c.unread(Budgets, namespace) || c.unread(Namespaces, namespace)
}
