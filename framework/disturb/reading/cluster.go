package reading

import (
	"fmt"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/disturb"
)

// cluster reads which cluster this is, and who asks.
func (v *reading) cluster() {
	v.Cluster = disturb.Cluster{Server: v.Server, Context: v.Context}
	who, err := v.Client.AuthenticationV1().SelfSubjectReviews().Create(v.ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		v.err = fmt.Errorf("ask %s who this user is: %w", v.Server, err)
		return
	}
	v.Cluster.User, v.Cluster.Groups = who.Status.UserInfo.Username, who.Status.UserInfo.Groups
	version, err := v.Client.Discovery().ServerVersion()
	if err != nil {
		v.err = fmt.Errorf("ask %s for its version: %w", v.Server, err)
		return
	}
	v.Cluster.Version = version.GitVersion
	system, err := v.Client.CoreV1().Namespaces().Get(v.ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	if err != nil {
		v.refused("namespaces", metav1.NamespaceSystem, err)
		return
	}
	v.Cluster.UID = string(system.UID)
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
