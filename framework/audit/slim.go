package audit

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slimPod returns what rules need of a pod: a tenth of its size, which counts where thousands are kept.
func slimPod(p *corev1.Pod) corev1.Pod {
	slim := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, Labels: p.Labels, DeletionTimestamp: p.DeletionTimestamp},
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName},
	}
	if c := noNode(p); c != nil {
		slim.Status.Conditions = []corev1.PodCondition{*c}
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
