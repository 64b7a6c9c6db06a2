package disturb

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/safety/capacity"
)

// Cluster is what is known of the cluster itself.
type Cluster struct {
	Server  string   `json:"server"`
	Context string   `json:"context,omitempty"`
	UID     string   `json:"uid"` // of namespace kube-system
	User    string   `json:"user"`
	Groups  []string `json:"groups,omitempty"`
	Version string   `json:"version"`
}

// Snapshot is what was read of a cluster. It is plain data, so a test can construct one.
type Snapshot struct {
	Cluster Cluster
	// Taken is when it was read, by the clock of the API server, and Ahead is how far the clock of this machine is ahead of that one.
	Taken time.Time
	Ahead time.Duration

	Nodes        []corev1.Node
	Namespaces   []corev1.Namespace // those that could be read
	Pods         []corev1.Pod       // of all namespaces
	Deployments  []appsv1.Deployment
	StatefulSets []appsv1.StatefulSet
	ReplicaSets  []appsv1.ReplicaSet
	Budgets      []policyv1.PodDisruptionBudget
	// Autoscalers are HorizontalPodAutoscalers and ScaledObjects, and NodeScaling is what the cluster autoscaler is doing; empty: nothing.
	Autoscalers []Autoscaler
	NodeScaling string
	// Chaos are objects of other chaos tools.
	Chaos []Object
	// Claims are the volumes of the application, by the names of their claims.
	Claims map[capacity.Claim]corev1.PersistentVolume

	// Rights are the answers of the API server to the rights that were asked about.
	Rights map[existing.Permission]bool
	// Admitted are the answers to creating a replacement of a pod, which was not created; nil: it would be admitted.
	Admitted map[Object]error
	// Holder is the run that uses the cluster; empty: none does.
	Holder string
	// Unread is what could not be read, or not asked.
	Unread []Unread
}

// Autoscaler is an object that changes the replicas of a workload.
type Autoscaler struct {
	Object
	Of      Object // the workload; without its UID
	Scaling string // what it is doing; empty: nothing
}

// Unread is a resource that could not be read.
type Unread struct {
	Resource  string
	Namespace string // empty: all
	Why       string
}
