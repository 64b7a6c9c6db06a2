//go:build e2e

package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/engine"
)

// TestExamineForReal examines this machine.
func TestExamineForReal(t *testing.T) {
	begin := time.Now()
	report := Examine(t.Context(), Options{CacheDir: t.TempDir()})
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s\n%s", time.Since(begin), text.String())
	if !report.OK {
		t.Error("no cluster can be created here")
	}
	for _, check := range report.Checks {
		if check.Found == "" || check.Status == Fail && check.Remedy == "" {
			t.Errorf("%+v: found or remedy is missing", check)
		}
	}
}

// TestSurveyForReal has the engine of this machine look at the machine that it runs containers on, as on a Mac. That is this one, so that both
// must have the same results. Their words may differ: a container sees less of control groups.
func TestSurveyForReal(t *testing.T) {
	found, err := engine.Find(t.Context(), engine.Options{NoInstall: true})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	there, err := survey(t.Context(), found, DefaultNodes)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %+v", time.Since(begin), there)
	here := thisMachine()
	for _, want := range []Check{here.cgroups(), here.inotify(DefaultNodes), here.overlay()} {
		if !slices.ContainsFunc(there, func(c Check) bool { return c.Name == want.Name && c.Status == want.Status }) {
			t.Errorf("%+v, want among it %s %s", there, want.Name, want.Status)
		}
	}
	f, _, err := here.forecast(t.Context(), found, Options{})
	if err != nil || f.Held == "" {
		t.Skipf("no node image is here, and the programs are in it (%v)", err)
	}
	inNode := here.kernelBy(nodeImage{found, f.Held}.try)
	for i, got := range inNode.features(t.Context()) {
		if want := here.features(t.Context())[i]; got.Status != want.Status {
			t.Errorf("in a container of the node image %+v, and here %+v", got, want)
		}
	}
	refused := trial{command: []string{"ip", "link", "add", "name", "hf0", "type", "nosuchkind"}, refusal: "no nosuchkind", status: Fail}
	if got := inNode.kernel(t.Context(), "nosuchkind", "works", "iproute2", refused); got.Status != Fail {
		t.Errorf("a kind of device that no kernel has: %+v, want a failure", got)
	}
}
