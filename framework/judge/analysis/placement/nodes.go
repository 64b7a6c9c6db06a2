package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// apiNode returns what the scheduler's rules need of a recorded node.
func apiNode(n *history.Node) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels}, Spec: corev1.NodeSpec{Unschedulable: n.Unschedulable}}
	for _, text := range n.Taints {
		node.Spec.Taints = append(node.Spec.Taints, parseTaint(text))
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

// fit applies the rules about nodes, once for each node.
func (r *podRules) fit(n *corev1.Node) Fit {
	f, done := r.fits[n]
	if !done {
		f = r.nodes.Fit(n)
		r.fits[n] = f
	}
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
	return (affinity || fit.Admitted) && (taints || fit.Untolerated == nil)
}
