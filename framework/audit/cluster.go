package audit

import (
	"slices"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
