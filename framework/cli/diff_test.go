package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/certify"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// someCertificate stores one whose scenario had this verdict after the upgrade, and returns its folder.
func someCertificate(t *testing.T, v reports.Result) string {
	t.Helper()
	side := certificate.Side{Verdict: reports.Held}
	after := certificate.Side{Verdict: v, Why: "4 of 100 requests failed"}
	c := &certificate.Certificate{
		APIVersion: certificate.APIVersion, Kind: certificate.Kind, ID: "of-" + string(v), Upgrade: certificate.Upgrade{Side: side},
		From: certificate.Release{Kubernetes: "v1.36.3"}, To: certificate.Release{Kubernetes: "v1.37.0"}, Result: certificate.Partial,
		Scenarios: []certificate.Scenario{{Name: "chaos/a", Verdict: v, Before: side, After: after}},
	}
	dir := t.TempDir()
	if err := certificate.Write(dir, c); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestDiff(t *testing.T) {
	held, violated, unknown := someCertificate(t, reports.Held), someCertificate(t, reports.Violated), someCertificate(t, reports.Unknown)
	other := filepath.Join(t.TempDir(), "other")
	overwrite(t, other, `{"apiVersion": "holdfast.dev/v9", "kind": "UpgradeCertificate"}`)
	for _, test := range []struct {
		a, b string
		code int
		says string // and the last line, which it ends with
		err  string
	}{
		{held, held, exit.Held, "A: of-Held, Kubernetes v1.36.3 to v1.37.0: partial\nB: of-Held, Kubernetes v1.36.3 to v1.37.0: partial\nno regression\n", ""},
		{held, violated, exit.Violated, "REGRESSION  chaos/a after the upgrade: was Held, is Violated: 4 of 100 requests failed\nregressed: chaos/a\n", "has lost"},
		{held, unknown, exit.Unknown, "missing     chaos/a after the upgrade: was Held, is Unknown: 4 of 100 requests failed\nno regression, but evidence is missing\n", "evidence is missing"},
		{violated, held, exit.Held, "better      chaos/a after the upgrade: was Violated, is Held\nno regression\n", ""},
		{violated, violated, exit.Held, "no regression\n", ""},
		{filepath.Join(held, certificate.YAMLFile), filepath.Join(violated, certificate.JSONFile), exit.Violated, "regressed: chaos/a\n", "has lost"},
		{held, other, exit.BadUsage, "", `has version "holdfast.dev/v9", but this holdfast reads only holdfast.dev/v1`},
		{t.TempDir(), held, exit.BadUsage, "", "neither certificate.json nor certificate.yaml is in "},
	} {
		out, code, err := execute(t, "diff", test.a, test.b)
		if code != test.code || !strings.HasSuffix(out, test.says) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("diff %s %s: exit code %d, %v; want %d and %q\n%s\nwant\n%s", test.a, test.b, code, err, test.code, test.err, out, test.says)
		}
	}
	if _, code, err := execute(t, "diff", held); code != exit.BadUsage {
		t.Errorf("one certificate: exit code %d, %v", code, err)
	}
}

func TestDiffForPrograms(t *testing.T) {
	out, code, err := execute(t, "diff", "--json", someCertificate(t, reports.Held), someCertificate(t, reports.Violated))
	var d certify.Diff
	if jsonErr := json.Unmarshal([]byte(out), &d); jsonErr != nil || code != exit.Violated {
		t.Fatalf("exit code %d, %v, %v\n%s", code, err, jsonErr, out)
	}
	if d.Kind != certify.DiffKind || d.APIVersion != certificate.APIVersion || len(d.Regressions) != 1 || d.Regressions[0].Scenario != "chaos/a" ||
		len(d.Scenarios) != 1 || strings.Contains(out, "null") {
		t.Errorf("%s", out)
	}
}
