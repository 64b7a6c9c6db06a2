package audit

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestPolicy checks the policy as it is printed. e2e_test.go checks that an API server accepts it, and what it refuses.
func TestPolicy(t *testing.T) {
	text, err := Policy(DefaultCritical)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "policy.yaml", text)
	parts := strings.Split(string(text), "---\n")
	if len(parts) != 2 {
		t.Fatalf("%d documents", len(parts))
	}
	var policy admissionv1.ValidatingAdmissionPolicy
	var binding admissionv1.ValidatingAdmissionPolicyBinding
	if err := yaml.UnmarshalStrict([]byte(parts[0]), &policy); err != nil {
		t.Error(err)
	}
	if err := yaml.UnmarshalStrict([]byte(parts[1]), &binding); err != nil {
		t.Error(err)
	}
	if binding.Spec.PolicyName != policy.Name || policy.Name == "" {
		t.Errorf("binding of %q, policy %q", binding.Spec.PolicyName, policy.Name)
	}
}

func TestPolicyOfAnySelector(t *testing.T) {
	const labels = "has(object.metadata.labels) && "
	for _, test := range []struct{ selector, want string }{
		{"tier=gold", "(" + labels + "'tier' in object.metadata.labels && object.metadata.labels['tier'] in ['gold'])"},
		{"a.b/tier in (gold,black)", "(" + labels + "'a.b/tier' in object.metadata.labels && object.metadata.labels['a.b/tier'] in ['black', 'gold'])"},
		{"tier notin (dev)", "!(" + labels + "'tier' in object.metadata.labels && object.metadata.labels['tier'] in ['dev'])"},
		{"tier", "(" + labels + "'tier' in object.metadata.labels)"},
		{"!tier", "!(" + labels + "'tier' in object.metadata.labels)"},
		{"a,b", "(" + labels + "'a' in object.metadata.labels) && (" + labels + "'b' in object.metadata.labels)"},
	} {
		text, err := Policy(test.selector)
		if err != nil {
			t.Errorf("%s: %v", test.selector, err)
			continue
		}
		var policy admissionv1.ValidatingAdmissionPolicy
		if err := yaml.Unmarshal([]byte(strings.Split(string(text), "---\n")[0]), &policy); err != nil {
			t.Fatal(err)
		}
		conditions := policy.Spec.MatchConditions
		if got := conditions[len(conditions)-1].Expression; got != test.want {
			t.Errorf("%s: %s, want %s", test.selector, got, test.want)
		}
		if s := policy.Spec.MatchConstraints.ObjectSelector; len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
			t.Errorf("%s: the policy binds everything", test.selector)
		}
	}
	for _, selector := range []string{"", "tier=(", "tier>3", "tier!=dev"} {
		if text, err := Policy(selector); err == nil || !strings.Contains(err.Error(), "read label selector") {
			t.Errorf("%q: %v\n%s", selector, err, text)
		}
	}
}
