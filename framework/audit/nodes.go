package audit

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// Node labels of the topology domains whose members fail together.
const (
	zoneKey = corev1.LabelTopologyZone
	hostKey = corev1.LabelHostname
)

// admits reports whether a pod's node selector and required node affinity allow it on a node.
func admits(pod corev1.PodSpec, n *corev1.Node) bool {
	admitted, err := nodeaffinity.NewRequiredNodeAffinity(pod.NodeSelector, pod.Affinity).Match(n)
	return admitted && err == nil
}

// repelledBy returns the key of the first taint of a node that keeps a new pod out because the pod does not tolerate it; empty:
// there is no such taint. Only taints for which counts is true are considered.
func repelledBy(pod corev1.PodSpec, n *corev1.Node, counts func(corev1.Taint) bool) string {
	taint, _ := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, pod.Tolerations, func(t *corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && counts(*t)
	}, false)
	return taint.Key
}

func anyTaint(corev1.Taint) bool { return true }

// lasting is true for taints that users put on a node. Kubernetes' own taints come and go with a node's health, and with a
// cordon.
func lasting(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") }
