package audit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noMatchLabelKeys = Rule{
	ID: "no-match-label-keys", Severity: Warning,
	Title: "a spread constraint counts the pods of old revisions too",
	Why: "During a rollout the new pods are placed so that old and new pods together are even. When the old pods are gone, the " +
		"new ones may be uneven, or a hard constraint may have kept them Pending. matchLabelKeys with pod-template-hash " +
		"spreads each revision by itself. A Note for a soft constraint. StatefulSets replace pods one for one and do not need it.",
	Doc: docSpread, check: checkNoMatchLabelKeys,
}

func checkNoMatchLabelKeys(s *subject) {
	if s.Kind != Deployment || !s.Update.Rolling {
		return
	}
	severity, e := Note, edit{subject: s}
	var over []string
	for i, c := range s.Template.Spec.TopologySpreadConstraints {
		if !s.own(c.LabelSelector) || slices.Contains(c.MatchLabelKeys, revisionKey) || mentions(c.LabelSelector, revisionKey) {
			continue
		}
		if hard(c) {
			severity = Warning
		}
		over = append(over, describe(c))
		e.change(i, "matchLabelKeys", append(slices.Clone(c.MatchLabelKeys), revisionKey))
	}
	if len(over) > 0 {
		s.find(Finding{
			Severity: severity, Fix: s.patchOps(e.done()), Caution: s.rollout(),
			Evidence: fmt.Sprintf("no %s in matchLabelKeys of the spread over %s", revisionKey, listNames(over)),
		})
	}
}

func mentions(selector *metav1.LabelSelector, key string) bool {
	_, in := selector.MatchLabels[key]
	return in || slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}

// describe describes a constraint: its key, and whether it is hard.
func describe(c corev1.TopologySpreadConstraint) string {
	return fmt.Sprintf("%s (%s)", c.TopologyKey, c.WhenUnsatisfiable)
}
