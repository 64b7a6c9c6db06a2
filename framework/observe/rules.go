package observe

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// rules are the scheduling constraints of a pod whose effect depends on other pods and on nodes. Soft spread constraints
// are kept for readers of the record; other preferences are left out.
type rules struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}

// rulesJSON is a pod's rules in Kubernetes' JSON; {} if it has none. Marshalling plain API types never fails.
func rulesJSON(spec corev1.PodSpec) json.RawMessage {
	raw, err := json.Marshal(rules{
		NodeSelector: spec.NodeSelector, Affinity: required(spec.Affinity),
		Tolerations: spec.Tolerations, TopologySpreadConstraints: spec.TopologySpreadConstraints,
	})
	if err != nil {
		return nil
	}
	return raw
}

// required is an affinity without its preferences; nil if nothing remains.
func required(all *corev1.Affinity) *corev1.Affinity {
	if all == nil {
		return nil
	}
	var hard corev1.Affinity
	if a := all.NodeAffinity; a != nil && a.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		hard.NodeAffinity = &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if a := all.PodAffinity; a != nil && len(a.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		hard.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if a := all.PodAntiAffinity; a != nil && len(a.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		hard.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: a.RequiredDuringSchedulingIgnoredDuringExecution,
		}
	}
	if hard == (corev1.Affinity{}) {
		return nil
	}
	return &hard
}
