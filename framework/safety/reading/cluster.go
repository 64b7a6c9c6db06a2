package reading

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// cluster reads which cluster this is, and who asks.
func (v *reading) cluster() {
	v.Cluster = disturb.Cluster{Server: v.Server, Context: v.Context}
	who, err := v.Identify(v.ctx)
	if err != nil {
		v.err = err
		return
	}
	v.Cluster.User, v.Cluster.Groups, v.Cluster.Version, v.Cluster.UID = who.User, who.Groups, who.Kubernetes, who.UID
}

func (v *reading) nodes() {
	list(v, "nodes", "", v.Client.CoreV1().Nodes(), func(n *corev1.Node) {
		n.ManagedFields = nil
		v.Nodes = append(v.Nodes, *n)
	})
}

func (v *reading) pods() {
	list(v, "pods", "", v.Client.CoreV1().Pods(metav1.NamespaceAll), func(p *corev1.Pod) {
		p.ManagedFields = nil // most of a pod's size, and not needed
		v.Pods = append(v.Pods, *p)
	})
}

// namespaces reads the application's namespace, holdfast's own, and those of the pods on nodes that may be drained. Only those that exist
// and may be read are in the Snapshot.
func (v *reading) namespaces() {
	names := []string{v.request.Namespace, v.request.Home}
	for _, n := range v.owners() {
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	for _, name := range names {
		n, err := v.Client.CoreV1().Namespaces().Get(v.ctx, name, metav1.GetOptions{})
		if err == nil {
			v.Namespaces = append(v.Namespaces, *n)
		}
		if name != v.request.Home || !isNotFound(err) {
			v.refused("namespaces", name, err)
		}
	}
}
