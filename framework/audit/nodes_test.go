package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAdmits checks that a node selector and a required node affinity count together. What their operators mean is decided, and
// tested, by k8s.io/component-helpers.
func TestAdmits(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{"disk": "fast", "cores": "8"}}}
	affinity := func(requirements ...corev1.NodeSelectorRequirement) *corev1.Affinity {
		return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: requirements}},
		}}}
	}
	fast := affinity(corev1.NodeSelectorRequirement{Key: "disk", Operator: corev1.NodeSelectorOpIn, Values: []string{"fast"}})
	for name, test := range map[string]struct {
		pod  corev1.PodSpec
		want bool
	}{
		"no rule":             {corev1.PodSpec{}, true},
		"no required rule":    {corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}, true},
		"both match":          {corev1.PodSpec{NodeSelector: map[string]string{"cores": "8"}, Affinity: fast}, true},
		"the selector alone":  {corev1.PodSpec{NodeSelector: map[string]string{"disk": "slow"}, Affinity: fast}, false},
		"an empty term":       {corev1.PodSpec{Affinity: affinity()}, false},
		"an unknown operator": {corev1.PodSpec{Affinity: affinity(corev1.NodeSelectorRequirement{Key: "cores", Operator: "Like"})}, false},
	} {
		if got := admits(test.pod, n); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRepelledBy(t *testing.T) {
	n := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
		{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute},
		{Key: "role", Value: "db", Effect: corev1.TaintEffectNoSchedule},
	}}}
	role := corev1.Toleration{Key: "role", Value: "db"}
	for name, test := range map[string]struct {
		tolerations []corev1.Toleration
		counts      func(corev1.Taint) bool
		want        string
	}{
		"any taint":            {nil, anyTaint, "node.kubernetes.io/not-ready"},
		"a lasting taint":      {nil, lasting, "role"},
		"a tolerated one":      {[]corev1.Toleration{role}, lasting, ""},
		"another is tolerated": {[]corev1.Toleration{role}, anyTaint, "node.kubernetes.io/not-ready"},
		"a numeric toleration": {[]corev1.Toleration{{Key: "role", Operator: corev1.TolerationOpLt, Value: "9"}}, lasting, "role"},
		"everything tolerated": {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, anyTaint, ""},
	} {
		if got := repelledBy(corev1.PodSpec{Tolerations: test.tolerations}, n, test.counts); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
