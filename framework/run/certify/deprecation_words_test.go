package certify

import "testing"

func TestWhatADeprecationIs(t *testing.T) {
	for text, want := range map[string]struct {
		deprecation bool
		api         string
	}{
		"policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget": {true, "policy/v1beta1"},
		"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice":                                          {true, "v1"},
		`spec.template.spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead`:       {true, ""},
		`metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: non-functional in v1.27+; use "seccompProfile"`:       {true, ""},
		"spec.volumes[0].cephfs: deprecated in v1.28, non-functional in v1.31+":                                                {true, ""},
		"spec.externalIPs is deprecated and may no longer be implemented in some clusters":                                     {true, ""},
		`would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false`:                                     {false, ""},
		`unknown field "spec.deprecatedField"`:                                                                                 {false, ""},
		"":                                                                                                                     {false, ""},
	} {
		if isDeprecation(text) != want.deprecation || apiOf(text) != want.api {
			t.Errorf("%q: %t, %q; want %+v", text, isDeprecation(text), apiOf(text), want)
		}
	}
}
