package placement

import (
	corev1 "k8s.io/api/core/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// NodeRules are the rules of a pod about nodes: its selector, its required affinity and its tolerations.
type NodeRules struct {
	nodes       nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// NodeRulesOf returns the rules of a pod.
func NodeRulesOf(pod corev1.PodSpec) NodeRules {
	return NodeRules{nodeaffinity.NewRequiredNodeAffinity(pod.NodeSelector, pod.Affinity), pod.Tolerations}
}

// Fit is whether a node fits a pod by the pod's rules about nodes.
type Fit struct {
	Admitted    bool          // by the node selector and the required node affinity
	Untolerated *corev1.Taint // the first taint against new pods that the pod does not tolerate; nil: there is none
	Cordoned    bool          // and the pod does not tolerate that
}

// OK reports whether no rule keeps the pod from the node.
func (f Fit) OK() bool { return f.Admitted && f.Untolerated == nil && !f.Cordoned }

// cordonTaint is what a pod must tolerate to be placed on a cordoned node.
var cordonTaint = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// Fit applies the rules to a node.
func (r NodeRules) Fit(n *corev1.Node) (f Fit) {
	f.Admitted, _ = r.nodes.Match(n) // a term that cannot be parsed matches no node, as in kube-scheduler
	against := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	if t, found := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, r.tolerations, against, false); found {
		f.Untolerated = &t
	}
	f.Cordoned = n.Spec.Unschedulable && !scheduling.TolerationsTolerateTaint(klog.Logger{}, r.tolerations, &cordonTaint, false)
	return f
}
