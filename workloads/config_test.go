package workloads_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/workloads"
)

// What the pods of a template read, and whether they see a change of it while they run.
func TestConfigsOf(t *testing.T) {
	const conf = "volumes/kubernetes.io~configmap/v"
	mounted := func(volume, more string) string {
		return "volumes: [{name: v, " + volume + "}]\ncontainers: [{name: c, volumeMounts: [{name: v, mountPath: /etc/web" + more + "}]}]"
	}
	for name, test := range map[string]struct {
		spec, annotation string
		want             []workloads.Config
	}{
		"nothing":       {"containers: [{name: c, env: [{name: A, value: b}]}]", "", nil},
		"a folder":      {mounted("configMap: {name: web}", ""), "", []workloads.Config{{Kind: "ConfigMap", Name: "web", Folder: conf}}},
		"with checksum": {mounted("configMap: {name: web}", ""), "checksum/config", []workloads.Config{{Kind: "ConfigMap", Name: "web", Folder: conf, Followed: true}}},
		"a file":        {mounted("configMap: {name: web}", ", subPath: a"), "", []workloads.Config{{Kind: "ConfigMap", Name: "web"}}},
		"some keys":     {mounted("configMap: {name: web, items: [{key: a, path: a}]}", ""), "", []workloads.Config{{Kind: "ConfigMap", Name: "web"}}},
		"no mount":      {"volumes: [{name: v, configMap: {name: web}}]\ncontainers: [{name: c}]", "", []workloads.Config{{Kind: "ConfigMap", Name: "web"}}},
		"a Secret":      {mounted("secret: {secretName: web, optional: true}", ""), "", []workloads.Config{{Kind: "Secret", Name: "web", Folder: "volumes/kubernetes.io~secret/v", Optional: true}}},
		"projected": {mounted("projected: {sources: [{secret: {name: s}}, {configMap: {name: m}}, {configMap: {name: kube-root-ca.crt}}, {serviceAccountToken: {path: t}}]}", ""), "",
			[]workloads.Config{{Kind: "ConfigMap", Name: "m", Folder: "volumes/kubernetes.io~projected/v"}, {Kind: "Secret", Name: "s", Folder: "volumes/kubernetes.io~projected/v"}}},
		"variables": {"initContainers: [{name: i, envFrom: [{secretRef: {name: s}}]}]\ncontainers: [{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: m, key: a}}}, " +
			"{name: B, valueFrom: {secretKeyRef: {name: s, key: b}}}], envFrom: [{configMapRef: {name: o}}]}]", "",
			[]workloads.Config{{Kind: "ConfigMap", Name: "o"}, {Kind: "ConfigMap", Name: "m"}, {Kind: "Secret", Name: "s"}}},
		"both": {"volumes: [{name: v, secret: {secretName: s}}]\ncontainers: [{name: c, volumeMounts: [{name: v, mountPath: /s}], envFrom: [{configMapRef: {name: m}}]}]", "",
			[]workloads.Config{{Kind: "Secret", Name: "s", Folder: "volumes/kubernetes.io~secret/v"}, {Kind: "ConfigMap", Name: "m"}}},
	} {
		var spec corev1.PodSpec
		if err := yaml.UnmarshalStrict([]byte(test.spec), &spec); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		template := corev1.PodTemplateSpec{Spec: spec}
		if test.annotation != "" {
			template.ObjectMeta = metav1.ObjectMeta{Annotations: map[string]string{test.annotation: "1"}}
		}
		if diff := cmp.Diff(test.want, workloads.ConfigsOf(template)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
