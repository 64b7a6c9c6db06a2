package placement

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// chooses tells whether a pod's node selector and its required node affinity let it onto a node.
func (r *podRules) chooses(n history.Node) bool {
	if !history.Selects(r.NodeSelector, n.Labels) {
		return false
	}
	required := r.Affinity.NodeAffinity.Required
	if required == nil {
		return true
	}
	fields := map[string]string{"metadata.name": n.Name}
	return slices.ContainsFunc(required.Terms, func(t nodeTerm) bool {
		empty := len(t.Labels)+len(t.Fields) == 0 // which chooses nothing
		return !empty && t.makesSense() && holdAll(t.Labels, n.Labels) && holdAll(t.Fields, fields)
	})
}

// labelValue is what the value of a label may be.
//
// Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
var labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)

// makesSense tells whether all values that a term asks for can be those of labels. Such a term as does not, which older
// API servers let pass, chooses nothing, whatever its operators: so no node has a generation of more than -1.
//
// Source: LazyErrorNodeSelector in k8s.io/component-helpers/scheduling/corev1/nodeaffinity
func (t nodeTerm) makesSense() bool {
	return !slices.ContainsFunc(t.Labels, func(r requirement) bool {
		return slices.ContainsFunc(r.Values, func(value string) bool { return !labelValue.MatchString(value) })
	})
}

// A node's taint that keeps new pods away.
type taint struct{ key, value, effect string }

// readTaint reads key=value:effect.
func readTaint(text string) (t taint) {
	rest := text
	if i := strings.LastIndex(text, ":"); i >= 0 {
		rest, t.effect = text[:i], text[i+1:]
	}
	t.key, t.value, _ = strings.Cut(rest, "=")
	return t
}

// untolerated is a node's first taint against new pods that a pod does not tolerate; empty when there is none.
func (r *podRules) untolerated(n history.Node) string {
	for _, text := range n.Taints {
		if t := readTaint(text); (t.effect == "NoSchedule" || t.effect == "NoExecute") && !r.tolerates(t) {
			return text
		}
	}
	return ""
}

func (r *podRules) tolerates(t taint) bool {
	return slices.ContainsFunc(r.Tolerations, func(one toleration) bool {
		switch {
		case one.Effect != "" && one.Effect != t.effect, one.Key != "" && one.Key != t.key:
			return false
		case one.Operator == "Exists":
			return true
		}
		return one.Key != "" && one.Value == t.value
	})
}

// cordonTaint is what a pod must tolerate to be placed on a node that was cordoned.
var cordonTaint = taint{key: "node.kubernetes.io/unschedulable", effect: "NoSchedule"}

// counts tells whether a node makes a domain of one of a pod's spread constraints. It must have the labels of all of
// them.
func (r *podRules) counts(c spreadRule, n history.Node) bool {
	for _, each := range r.Spread {
		if _, has := n.Labels[each.TopologyKey]; !has {
			return false
		}
	}
	return (c.NodeAffinityPolicy == ignore || r.chooses(n)) && (c.NodeTaintsPolicy != honor || r.untolerated(n) == "")
}
