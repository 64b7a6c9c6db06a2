package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// apiNode returns what the scheduler's rules need of a recorded node. Of its taints it has those that keep new pods away.
func apiNode(n *history.Node) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{Unschedulable: n.Unschedulable}}
	for _, text := range n.Taints {
		if t := parseTaint(text); t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute {
			node.Spec.Taints = append(node.Spec.Taints, t)
		}
	}
	return node
}

// parseTaint parses the text of corev1.Taint.ToString: key=value:effect.
func parseTaint(text string) (t corev1.Taint) {
	rest := text
	if i := strings.LastIndex(text, ":"); i >= 0 {
		rest, t.Effect = text[:i], corev1.TaintEffect(text[i+1:])
	}
	t.Key, t.Value, _ = strings.Cut(rest, "=")
	return t
}

// nodeFit is what a pod's rules about nodes say of a node.
type nodeFit struct {
	admitted    bool   // by the node selector and the required node affinity
	untolerated string // the first taint against new pods that the pod does not tolerate; empty: there is none
	cordoned    bool   // and the pod does not tolerate that
}

// cordonTaint is what a pod must tolerate to be placed on a cordoned node.
var cordonTaint = corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}

// fit applies the rules about nodes, once for each node.
func (r *podRules) fit(n *corev1.Node) nodeFit {
	f, done := r.fits[n]
	if done {
		return f
	}
	f.admitted, _ = r.nodes.Match(n) // a term that cannot be parsed matches no node, as in kube-scheduler
	if t, found := scheduling.FindMatchingUntoleratedTaint(klog.Logger{}, n.Spec.Taints, r.tolerations, nil, false); found {
		f.untolerated = t.ToString()
	}
	f.cordoned = n.Spec.Unschedulable && !scheduling.TolerationsTolerateTaint(klog.Logger{}, r.tolerations, &cordonTaint, false)
	r.fits[n] = f
	return f
}

// eligible reports whether a node's domain counts for one of a pod's spread constraints. The node must have the topology labels
// of all of them.
func (r *podRules) eligible(c spreadRule, n *corev1.Node) bool {
	if slices.ContainsFunc(r.Spread, func(each spreadRule) bool { _, has := n.Labels[each.TopologyKey]; return !has }) {
		return false
	}
	fit := r.fit(n)
	affinity := c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	taints := c.NodeTaintsPolicy == nil || *c.NodeTaintsPolicy != corev1.NodeInclusionPolicyHonor
	return (affinity || fit.admitted) && (taints || fit.untolerated == "")
}
