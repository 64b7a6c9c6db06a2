package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// A broken promise is the exit code of a certification, with and without a certificate.
func TestCertified(t *testing.T) {
	for _, test := range []struct {
		doc      *certificate.Certificate
		violated bool
		want     int
	}{
		{nil, false, exit.Held}, {nil, true, exit.Violated},
		{&certificate.Certificate{Result: certificate.Certified}, false, exit.Held}, {&certificate.Certificate{Result: certificate.Certified}, true, exit.Violated},
		{&certificate.Certificate{Result: certificate.Partial}, false, exit.Unknown}, {&certificate.Certificate{Failure: &certificate.Failure{}}, true, exit.Violated},
	} {
		if err := certified(test.doc, test.violated); exit.Code(err) != test.want {
			t.Errorf("%+v: %v, want exit code %d", test, err, test.want)
		}
	}
}

// What was not judged, because the user may not read it, is in the certificate.
func TestACertificateSaysWhatWasNotWatched(t *testing.T) {
	f := runningFlags{upgrade: "./up.sh"}
	survey := recording.Survey{NotWatched: []history.NotWatched{{What: "poddisruptionbudgets", Why: "this user must not list them"}}}
	facts := f.about(existing.Of("staging", "shop", &rest.Config{}), survey).Facts
	if len(facts) != 1 || facts[0].Found != "poddisruptionbudgets, so that what depends on them is not judged: this user must not list them" {
		t.Errorf("%+v", facts)
	}
}

// What the file promises counts for the upgrade, and is looked through before it.
func TestAnUpgradeIsJudgedByTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), appfile.Name)
	const text = "apiVersion: holdfast.dev/v1alpha1\nkind: App\ncluster: {uid: u}\napp: {namespace: shop}\nprobes: [{name: home, url: \"http://web/\"}]\npromises: {probes: {home: {voluntary: {failed: 3}}}}\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var f runningFlags
	_, promises, err := f.probes(name)
	if err != nil || promises.Of["home"].Failed.AtMost != 3 {
		t.Errorf("%+v, %v", promises, err)
	}
	if err := os.WriteFile(name, []byte(strings.Replace(text, "home: {v", "hone: {v", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err = f.probes(name); err == nil || !strings.Contains(err.Error(), "there is no probe hone") {
		t.Errorf("got %v", err)
	}
}
