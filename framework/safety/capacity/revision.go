package capacity

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// revisions are the labels by which controllers tell the pods of one revision from those of another.
var revisions = []string{appsv1.DefaultDeploymentUniqueLabelKey, appsv1.ControllerRevisionHashLabelKey}

// renewed is the revision of a pod that is not made yet: no pod has it.
const renewed = "renewed"

// renew makes a pod one of a new revision: its own label, and what the API server has written into its selectors from that label, because a term names
// it in its matchLabelKeys.
//
// Source: applyMatchLabelKeysAndMismatchLabelKeys in kubernetes pkg/registry/core/pod/strategy.go
func renew(p *corev1.Pod) {
	was := map[string]string{}
	for _, key := range revisions {
		if value, has := p.Labels[key]; has {
			was[key], p.Labels[key] = value, renewed
		}
	}
	for i := range p.Spec.TopologySpreadConstraints {
		renewSelector(p.Spec.TopologySpreadConstraints[i].LabelSelector, was)
	}
	if a := p.Spec.Affinity; a != nil {
		for _, terms := range [][]corev1.PodAffinityTerm{required(a.PodAffinity), required((*corev1.PodAffinity)(a.PodAntiAffinity))} {
			for i := range terms {
				renewSelector(terms[i].LabelSelector, was)
			}
		}
	}
}

func required(a *corev1.PodAffinity) []corev1.PodAffinityTerm {
	if a == nil {
		return nil
	}
	return a.RequiredDuringSchedulingIgnoredDuringExecution
}

// renewSelector replaces the former revision in the requirements of a selector: key in (value), or key not in (value).
func renewSelector(s *metav1.LabelSelector, was map[string]string) {
	if s == nil {
		return
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		if value, has := was[e.Key]; has && slices.Equal(e.Values, []string{value}) {
			e.Values = []string{renewed}
		}
	}
}
