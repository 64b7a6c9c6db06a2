package cli

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// A certificate says what of the application it does not cover.
func TestACertificateSaysWhatIsLeftOut(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"holdfast.yaml": "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [.], without: [Certificate]}\nprobes: [{url: http://web/}]\n",
		"web.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}\n" +
			"---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n" +
			"---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web}\n---\napiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: tls}\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a, err := application(t.Context(), ".", "v1.36.3", scenario.Spec{Faults: []fault.Fault{fault.Rollout{}}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ServiceMonitor.monitoring.coreos.com web, because no manifest defines", "Certificate.cert-manager.io tls, because --without says so"} {
		if said := strings.Join(a.Notes, "\n"); !strings.Contains(said, want) || !strings.Contains(strings.Join(a.Upgrade.Notes, "\n"), want) {
			t.Errorf("the certificate says %q, want %q", said, want)
		}
	}
}

// The chart of an application is rendered for the version with which its upgrade begins.
func TestAChartIsRenderedForTheFirstVersion(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("shop", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"shop/Chart.yaml": "name: shop",
		"helm":            "#!/bin/sh\necho \"$*\" >&2\nexit 1\n",
		"holdfast.yaml":   "apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {chart: {path: shop}}\nprobes: [{url: http://web/}]\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", here)
	for _, version := range []string{"v1.36.3", "v1.35.0"} {
		_, err := application(t.Context(), ".", version, scenario.Spec{}, io.Discard)
		if err == nil || !strings.Contains(err.Error(), "--kube-version "+version) {
			t.Errorf("from %s: %v", version, err)
		}
	}
}
