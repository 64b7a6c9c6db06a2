package disturb

import (
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var blastRadius = Rule{
	Number: 10, ID: "blast-radius", Beyond: true,
	Promise: "of each workload at most so many pods are away as its budget and the file allow, and never the last one that is ready; one node; " +
		"no control plane, and nothing in kube-*",
	needs: []string{"pods", "poddisruptionbudgets"},
	step:  checkBlastRadius,
}

func checkBlastRadius(s *sight) {
	if s.kubernetesOwn(s.step.target.Namespace) {
		s.refuse(s.step.target.Object, "test a workload of your own", "its namespace is Kubernetes' own")
	}
	if s.step.target.Namespace == s.Home {
		s.refuse(s.step.target.Object, "test a workload of your own", "its namespace is holdfast's own")
	}
	if n := s.step.node; n != nil && controlPlane(n, s.Pods, s.Cluster.Server) {
		s.refuse(nodeObject(n), "", "it is a node of the control plane")
	}
	for _, p := range s.step.victims {
		if p.Namespace != s.step.target.Namespace && (s.kubernetesOwn(p.Namespace) || p.Namespace == s.Home) {
			s.refuse(objectOf(p), "", "it is on the node, and its namespace is %s own", map[bool]string{true: "holdfast's", false: "Kubernetes'"}[p.Namespace == s.Home])
		}
	}
	for _, e := range s.ending() {
		s.few(e)
	}
}

func (s *sight) kubernetesOwn(namespace string) bool { return strings.HasPrefix(namespace, "kube-") }

// few refuses if too many pods of a workload would be away at a time.
func (s *sight) few(e ending) {
	away, allowed := s.atOnce(e)
	if away > s.Limits.Pods {
		s.refuse(e.Object, "raise disturb.pods in the file, or give it a budget", "%d of its pods would be away at a time, and the file allows %d", away, s.Limits.Pods)
	}
	if allowed >= 0 && away > allowed {
		s.refuse(e.Object, "wait until it has more healthy pods, or mend its budget", "%d of its pods would be away at a time, and its budget allows %d", away, allowed)
	}
	if ready := len(e.ready()); away > 0 && ready-away < 1 {
		s.refuse(e.Object, "give it more replicas", "it has %d ready, and %d would be away at a time: none would be left", ready, away)
	}
}

// atOnce is how many pods of a workload would be away at a time, and how many its budget allows; -1: it has none.
func (s *sight) atOnce(e ending) (away, allowed int) {
	allowed = -1
	for _, p := range e.victims {
		for _, b := range s.budgetsOf(p) {
			if n := int(b.Status.DisruptionsAllowed); allowed < 0 || n < allowed {
				allowed = n
			}
		}
	}
	switch f := s.fault(); {
	case f.Evicts:
		away = len(e.victims)
		if allowed > 0 { // the API server evicts no more than the budget allows
			away = min(away, allowed)
		}
	case f.ByHook:
		away = len(e.victims)
	case f.Edits == "spec.replicas":
		away = min(1, max(0, e.replicas-1)) // ScaleThrough ends one pod at a time, and never the last one
	default:
		away = e.away
	}
	return away, allowed
}

// ofControlPlane are labels and taints of nodes of the control plane: Kubernetes' own, and those of RKE1 and MicroK8s.
var ofControlPlane = []string{
	"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master", "node-role.kubernetes.io/etcd", "node-role.kubernetes.io/controlplane",
	"node.kubernetes.io/microk8s-controlplane",
}

// controlPlane reports whether a node is one of the control plane: by its labels and taints, by what runs on it, or because the API server that is asked has
// its address.
func controlPlane(n *corev1.Node, pods []corev1.Pod, server string) bool {
	u, err := url.Parse(server)
	asked := func(a corev1.NodeAddress) bool { return err == nil && a.Address != "" && a.Address == u.Hostname() }
	if slices.ContainsFunc(n.Status.Addresses, asked) || n.Labels["node.k0sproject.io/role"] == "control-plane" {
		return true
	}
	for _, key := range ofControlPlane {
		_, has := n.Labels[key]
		if has || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key }) {
			return true
		}
	}
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
		return mirror && p.Spec.NodeName == n.Name && p.Namespace == "kube-system" &&
			(p.Labels["tier"] == "control-plane" || strings.HasPrefix(p.Name, "kube-apiserver") || strings.HasPrefix(p.Name, "etcd"))
	})
}
