package certifying

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
	a, err := application(t.Context(), ".", scenario.Spec{Faults: []fault.Fault{fault.Rollout{}}}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ServiceMonitor.monitoring.coreos.com web, because no manifest defines", "Certificate.cert-manager.io tls, because --without says so"} {
		if said := strings.Join(a.Notes, "\n"); !strings.Contains(said, want) || !strings.Contains(strings.Join(a.Upgrade.Notes, "\n"), want) {
			t.Errorf("the certificate says %q, want %q", said, want)
		}
	}
}
