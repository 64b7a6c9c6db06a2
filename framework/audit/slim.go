package audit

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
