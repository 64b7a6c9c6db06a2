package audit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAdmits follows Kubernetes' documentation on node affinity.
func TestAdmits(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "w1", Labels: map[string]string{"disk": "fast", "cores": "8"}}}
	term := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
	}
	name := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
		{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"w1"}},
	}}
	both := term("disk", "In", "fast")
	both.MatchFields = []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{"w1"}}}
	for _, test := range []struct {
		name  string
		terms []corev1.NodeSelectorTerm
		want  bool
	}{
		{"in", []corev1.NodeSelectorTerm{term("disk", "In", "slow", "fast")}, true},
		{"not in", []corev1.NodeSelectorTerm{term("disk", "NotIn", "fast")}, false},
		{"not in, and not there", []corev1.NodeSelectorTerm{term("gpu", "NotIn", "a")}, true},
		{"there", []corev1.NodeSelectorTerm{term("disk", "Exists")}, true},
		{"not there", []corev1.NodeSelectorTerm{term("disk", "DoesNotExist")}, false},
		{"more than", []corev1.NodeSelectorTerm{term("cores", "Gt", "7")}, true},
		{"not more than", []corev1.NodeSelectorTerm{term("cores", "Gt", "8")}, false},
		{"less than", []corev1.NodeSelectorTerm{term("cores", "Lt", "9")}, true},
		{"no number", []corev1.NodeSelectorTerm{term("disk", "Lt", "9")}, false},
		{"compared with no number", []corev1.NodeSelectorTerm{term("cores", "Lt", "many")}, false},
		{"an unknown operator", []corev1.NodeSelectorTerm{term("cores", "Like", "8")}, false},
		{"either", []corev1.NodeSelectorTerm{term("disk", "In", "slow"), name}, true},
		{"both", []corev1.NodeSelectorTerm{both}, false},
		{"an empty term", []corev1.NodeSelectorTerm{{}}, false},
	} {
		pod := corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: test.terms},
		}}}
		if got := admits(pod, n); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
		pod.NodeSelector = map[string]string{"disk": "slow"}
		if admits(pod, n) {
			t.Errorf("%s: its node selector counts too", test.name)
		}
	}
	if !admits(corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}}, n) {
		t.Error("no required affinity admits all")
	}
}

func TestTolerates(t *testing.T) {
	taint := corev1.Taint{Key: "role", Value: "db", Effect: corev1.TaintEffectNoSchedule}
	for _, test := range []struct {
		name string
		by   corev1.Toleration
		want bool
	}{
		{"equal", corev1.Toleration{Key: "role", Value: "db"}, true},
		{"equal, explicitly", corev1.Toleration{Key: "role", Operator: corev1.TolerationOpEqual, Value: "db", Effect: taint.Effect}, true},
		{"another value", corev1.Toleration{Key: "role", Value: "web"}, false},
		{"another key", corev1.Toleration{Key: "zone", Operator: corev1.TolerationOpExists}, false},
		{"another effect", corev1.Toleration{Key: "role", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, false},
		{"any value", corev1.Toleration{Key: "role", Operator: corev1.TolerationOpExists}, true},
		{"anything", corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{"a comparison", corev1.Toleration{Key: "role", Operator: corev1.TolerationOpLt, Value: "zz"}, false},
	} {
		if got := tolerates(test.by, taint); got != test.want {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	soft := &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "role", Effect: corev1.TaintEffectPreferNoSchedule}}}}
	if found := repelling(corev1.PodSpec{}, soft, anyTaint); len(found) > 0 {
		t.Errorf("a preference repels: %v", found)
	}
}
