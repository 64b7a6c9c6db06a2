package certificate

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample is a certificate that has something in every field. framework/run/certify tests that it assembles this certificate.
func sample(t *testing.T) *Certificate {
	t.Helper()
	c, err := Read(filepath.Join("testdata", JSONFile))
	ok(t, err)
	return c
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *Certificate) error{
		JSONFile: reports.WriteJSON[*Certificate], YAMLFile: WriteYAML, MarkdownFile: WriteMarkdown,
	} {
		reporttest.Golden(t, name, reporttest.Written(t, write, sample(t)))
	}
}

// What is read is what was written, in both forms, from a file and from a folder.
func TestReadsBack(t *testing.T) {
	dir := t.TempDir()
	ok(t, Write(filepath.Join(dir, "new"), sample(t)))
	for _, name := range []string{"new", "new/" + JSONFile, "new/" + YAMLFile} {
		got, err := Read(filepath.Join(dir, filepath.FromSlash(name)))
		ok(t, err)
		if diff := cmp.Diff(sample(t), got); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
	ok(t, os.Remove(filepath.Join(dir, "new", JSONFile)))
	if _, err := Read(filepath.Join(dir, "new")); err != nil {
		t.Errorf("a folder with YAML alone: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for want, content := range map[string]string{
		`has version "holdfast.dev/v2", but this holdfast reads only holdfast.dev/v1`: `{"apiVersion": "holdfast.dev/v2", "kind": "UpgradeCertificate"}`,
		`has kind "Pod", want UpgradeCertificate`:                                     "apiVersion: v1\nkind: Pod\n",
		"is not a certificate":        `{"scenarios": []}`,
		"is neither JSON nor YAML":    "\t{",
		"is damaged":                  `{"apiVersion": "holdfast.dev/v1", "kind": "UpgradeCertificate", "seed": "x"}`,
		"has version \"\", but this ": "kind: UpgradeCertificate\n",
	} {
		name := filepath.Join(dir, "some")
		ok(t, os.WriteFile(name, []byte(content), 0o600))
		if _, err := Read(name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
	for _, name := range []string{filepath.Join(dir, "none"), t.TempDir()} {
		if _, err := Read(name); err == nil {
			t.Errorf("read %s, which is no certificate", name)
		}
	}
}

// testdata/v1.json is a certificate that was written when version v1 was new, with every field set. It is never written again:
// certificates that people keep must stay readable. It also has fields that a newer holdfast added.
func TestOldCertificatesLoseNothing(t *testing.T) {
	data, err := os.ReadFile("testdata/v1.json")
	ok(t, err)
	c, err := Decode(data)
	ok(t, err)
	read, err := json.Marshal(c)
	ok(t, err)
	var was, is map[string]any
	ok(t, json.Unmarshal(data, &was))
	ok(t, json.Unmarshal(read, &is))
	delete(was, "ofTheFuture")
	if diff := cmp.Diff(was, keep(is, was)); diff != "" {
		t.Errorf("(-written +read):\n%s", diff)
	}
	// Held against a few values, lest two be swapped everywhere.
	if c.From.Kubernetes != "From.Kubernetes" || c.Scenarios[1].After.Promises[0].Verdict != "Scenarios1.After.Promises0.Verdict" ||
		c.Upgrade.Steps[0].What != "Upgrade.Steps0.What" || c.Upgrade.Why != "Upgrade.Side.Why" || c.Failure.Node != "Failure.Node" {
		t.Errorf("read %+v", c)
	}
}

// keep leaves of is what was has: fields may have been added.
func keep(is, was any) any {
	switch is := is.(type) {
	case map[string]any:
		old, _ := was.(map[string]any)
		kept := make(map[string]any)
		for key, value := range is {
			if _, ok := old[key]; ok {
				kept[key] = keep(value, old[key])
			}
		}
		return kept
	case []any:
		old, _ := was.([]any)
		for i := range min(len(is), len(old)) {
			is[i] = keep(is[i], old[i])
		}
	}
	return is
}

func TestMarked(t *testing.T) {
	for _, test := range []struct {
		was, is, factor, floor float64
		want                   bool
	}{
		{2, 7.1, 2, 5, true},
		{7.1, 2, 2, 5, true},    // better is a difference, too
		{2, 7, 2, 5, false},     // exactly so much
		{20, 26, 2, 5, false},   // much, and not in proportion
		{0, 5.1, 2, 5, true},    // from nothing
		{0.1, 0.9, 2, 5, false}, // nine times of nearly nothing
		{0, 0, 1, 0, false},
	} {
		if got := Marked(test.was, test.is, test.factor, test.floor); got != test.want {
			t.Errorf("from %v to %v, %v times and %v: %v", test.was, test.is, test.factor, test.floor, got)
		}
	}
}

func TestCauseOf(t *testing.T) {
	for why, want := range map[string]string{
		`Internal error occurred: failed calling webhook "guard.exnoLimit.com": no endpoints available for service "guard"`: "webhook-unreachable",
		`admission webhook "guard.exnoLimit.com" denied the request`:                                                        "webhook-denied",
		"Cannot evict pod as it would violate the pod's disruption budget.":                                                 "budget-refuses",
		"waited 60s for pod x: last seen ErrImagePull":                                                                      "image-missing",
		"exit status 1": "",
	} {
		if got := CauseOf(why); got != want {
			t.Errorf("%s: %q, want %q", why, got, want)
		}
	}
}
