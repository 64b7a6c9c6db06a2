package audit

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Node labels of the topology domains whose members fail together.
const (
	zoneKey = corev1.LabelTopologyZone
	hostKey = corev1.LabelHostname
)

// admits reports whether a pod's node selector and required node affinity allow it on a node.
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
func admits(pod corev1.PodSpec, n *corev1.Node) bool {
	for key, value := range pod.NodeSelector {
		if n.Labels[key] != value {
			return false
		}
	}
	if pod.Affinity == nil || pod.Affinity.NodeAffinity == nil ||
		pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return true
	}
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return termAdmits(t, n) })
}

// termAdmits reports whether a node meets all requirements of a term; an empty term admits no node.
func termAdmits(t corev1.NodeSelectorTerm, n *corev1.Node) bool {
	fields := map[string]string{"metadata.name": n.Name}
	for _, r := range t.MatchExpressions {
		if !meets(r, n.Labels) {
			return false
		}
	}
	for _, r := range t.MatchFields {
		if !meets(r, fields) {
			return false
		}
	}
	return len(t.MatchExpressions)+len(t.MatchFields) > 0
}

func meets(r corev1.NodeSelectorRequirement, values map[string]string) bool {
	value, there := values[r.Key]
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		return there && slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpNotIn:
		return !there || !slices.Contains(r.Values, value)
	case corev1.NodeSelectorOpExists:
		return there
	case corev1.NodeSelectorOpDoesNotExist:
		return !there
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		is, err := strconv.Atoi(value)
		if err != nil || len(r.Values) != 1 {
			return false
		}
		bound, err := strconv.Atoi(r.Values[0])
		return err == nil && (r.Operator == corev1.NodeSelectorOpGt && is > bound || r.Operator == corev1.NodeSelectorOpLt && is < bound)
	}
	return false
}

// repelling returns the taints of a node that keep a new pod out because the pod does not tolerate them, among those for which
// counts is true.
func repelling(pod corev1.PodSpec, n *corev1.Node, counts func(corev1.Taint) bool) (taints []corev1.Taint) {
	for _, taint := range n.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule || !counts(taint) {
			continue
		}
		if !slices.ContainsFunc(pod.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }) {
			taints = append(taints, taint)
		}
	}
	return taints
}

// tolerates is corev1's ToleratesTaint without its logger. A numeric comparison, which is off by default, tolerates nothing.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case "", corev1.TolerationOpEqual:
		return t.Value == taint.Value
	default:
		return t.Operator == corev1.TolerationOpExists
	}
}

func anyTaint(corev1.Taint) bool { return true }

// lasting is true for taints that users put on a node. Kubernetes' own taints come and go with a node's health, and with a
// cordon.
func lasting(t corev1.Taint) bool { return !strings.HasPrefix(t.Key, "node.kubernetes.io/") }
