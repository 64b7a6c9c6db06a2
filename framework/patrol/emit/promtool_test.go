package emit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// prometheusTool finds a program of Prometheus. Without it the test fails and says how to get it.
func prometheusTool(t *testing.T, name string) string {
	t.Helper()
	if os.Getenv("HOLDFAST_NO_PROMETHEUS") == "1" {
		t.Skip("HOLDFAST_NO_PROMETHEUS=1: the alerting rules are not tried")
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("no %s: `make prometheus` gets Debian's and says where it is; put it on the PATH, or set HOLDFAST_NO_PROMETHEUS=1 to skip this test", name)
	}
	return path
}

// promtool runs promtool in a folder with the rules that the alerts make.
func promtool(t *testing.T, a Alerts, arguments ...string) {
	t.Helper()
	tool, dir := prometheusTool(t, "promtool"), t.TempDir()
	rules, err := a.File()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "rules.yaml"), rules, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, argument := range arguments {
		if !strings.HasSuffix(argument, "_tests.yaml") {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", argument))
		if err != nil {
			t.Fatal(err)
		}
		arguments[i] = filepath.Join(dir, argument)
		if err := os.WriteFile(arguments[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.CommandContext(t.Context(), tool, arguments...)
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
}

// Prometheus understands the rules, also with other times.
func TestPromtoolChecksTheRules(t *testing.T) {
	promtool(t, Alerts{}, "check", "rules", "rules.yaml")
	promtool(t, Alerts{Pending: 90 * time.Second, New: 36 * time.Hour, Settle: time.Second, Remember: 10 * time.Second, Blind: time.Minute}, "check", "rules", "rules.yaml")
}

// Prometheus' own test of rules: which alert each series of states raises, and when it ends.
func TestPromtoolTestsTheRules(t *testing.T) {
	promtool(t, Alerts{}, "test", "rules", "alerts_tests.yaml")
}
