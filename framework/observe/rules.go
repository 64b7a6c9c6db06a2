package observe

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// rules are the part of a pod's spec that the scheduler must obey when it places the pod, and of which other pods and
// nodes decide what it means. Soft spread constraints are kept for the reader.
type rules struct {
	NodeSelector              map[string]string                 `json:"nodeSelector,omitempty"`
	Affinity                  *corev1.Affinity                  `json:"affinity,omitempty"`
	Tolerations               []corev1.Toleration               `json:"tolerations,omitempty"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}

// rulesJSON keeps a pod's rules as Kubernetes writes them; {} when it has none. Plain API types always marshal.
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

// required is an affinity without what is only preferred; nil when nothing is left.
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
