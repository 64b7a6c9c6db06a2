package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeprecation(t *testing.T) {
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
		w := APIWarning{Text: text}
		if w.Deprecation() != want.deprecation || w.API() != want.api {
			t.Errorf("%q: %t, %q; want %+v", text, w.Deprecation(), w.API(), want)
		}
	}
}

func TestWarnings(t *testing.T) {
	first, second := APIWarning{Object: "PodDisruptionBudget backend", Text: "a"}, APIWarning{Object: "Pod load-0", Text: "b"}
	w, dir := create(t)
	must(t, w.Append(Event{T: 2, Warning: &second}))
	must(t, w.Append(Event{T: 1, Warning: &first}))
	must(t, w.Append(Event{T: 3, Phase: &Phase{Name: Steady}}))
	must(t, w.Close())
	run, err := Open(dir)
	must(t, err)
	if diff := cmp.Diff([]APIWarning{first, second}, run.Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
