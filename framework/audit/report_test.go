package audit

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nif this change is intended: go test ./framework/audit -update", file, diff)
	}
}

// bad is a report with findings of all severities, and an entry that was not checked.
func bad(t *testing.T) Report {
	w := newWorld(t, workloads.Backend{Budget: workloads.NoBudget, Spread: []workloads.Spread{oldHost}}, on("b1", "b2"))
	c := w.read()
	c.Taken = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.Unread = []Unread{{Resource: Services, Namespace: "bank", Why: "services is forbidden"}}
	return Audit(c, Options{Kubectl: "kubectl --context 'prod'", Skip: []string{"single-replica"}})
}

// Programs read the formats: a change of them needs another value of Format.
func TestFormats(t *testing.T) {
	var text bytes.Buffer
	if err := bad(t).WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", text.Bytes())
	text.Reset()
	if err := bad(t).WriteSARIF(&text, "v1.2.3"); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.sarif", text.Bytes())
}

// A report without findings has empty lists, not null, and every field that SARIF requires.
func TestEmptyReport(t *testing.T) {
	r := Audit(Cluster{}, Options{})
	var text bytes.Buffer
	if err := r.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"format\": 1,\n  \"taken\": \"0001-01-01T00:00:00Z\",\n  \"workloads\": 0,\n  \"findings\": [],\n  \"notChecked\": []\n}\n"
	if text.String() != want {
		t.Errorf("JSON is %s", text.String())
	}
	text.Reset()
	if err := r.WriteSARIF(&text, "v1"); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool        struct{ Driver struct{ Name string } }
			Invocations []struct{ ExecutionSuccessful *bool }
			Results     *[]any
		}
	}
	if err := json.Unmarshal(text.Bytes(), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("SARIF is %s (%v)", text.String(), err)
	}
	run := log.Runs[0]
	if run.Tool.Driver.Name == "" || run.Results == nil || run.Invocations[0].ExecutionSuccessful == nil || !*run.Invocations[0].ExecutionSuccessful {
		t.Errorf("SARIF is %s", text.String())
	}
}

// Two findings of one rule on one workload have different fingerprints, and a changed number in the evidence does not change a
// fingerprint.
func TestFingerprints(t *testing.T) {
	of := func(rule, name, evidence string) Finding {
		return Finding{Rule: rule, Namespace: shop, Kind: Deployment, Name: name, Evidence: evidence}
	}
	all := fingerprints([]Finding{
		of("no-prestop", "backend", "container a"), of("no-prestop", "backend", "container b"), of("no-prestop", "front", ""), of("no-budget", "backend", ""),
	})
	if again := fingerprints([]Finding{of("no-prestop", "backend", "another container a")}); again[0] != all[0] {
		t.Errorf("%s became %s", all[0], again[0])
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 4 {
		t.Errorf("fingerprints %v", all)
	}
}

// Every rule has a title, a reason and a link to Kubernetes' documentation, and is listed once.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules {
		if seen[r.ID] {
			t.Errorf("%s is listed twice", r.ID)
		}
		seen[r.ID] = true
		if !regexp.MustCompile(`^[a-z-]+$`).MatchString(r.ID) || r.Title == "" || !strings.HasSuffix(r.Why, ".") ||
			!strings.HasPrefix(r.Doc, "https://kubernetes.io/docs/") || (r.check == nil) == (r.checkBudget == nil) || !slices.Contains([]Severity{Error, Warning, Note}, r.Severity) {
			t.Errorf("rule %+v lacks something", r)
		}
	}
}

func TestSkip(t *testing.T) {
	if err := (Options{Skip: []string{"no-budget", "one-zone"}}).Validate(); err != nil {
		t.Error(err)
	}
	err := Options{Skip: []string{"budget"}}.Validate()
	if err == nil || !strings.HasPrefix(err.Error(), `rule "budget": want one of one-node, one-zone, `) {
		t.Errorf("skip budget: %v", err)
	}
	c := newWorld(t, unbudgeted).read()
	c.Unread = []Unread{{Resource: Budgets, Why: "forbidden"}}
	// A rule that is skipped is not reported as not checked.
	if r := Audit(c, Options{Skip: []string{"no-budget", "budget-blocks-drains", "budget-covers-nothing", "unhealthy-pods-block-drains"}}); len(r.Findings)+len(r.NotChecked) > 0 || len(r.Skipped) != 4 {
		t.Errorf("found %s, not checked %+v, skipped %v", listed(r.Findings), r.NotChecked, r.Skipped)
	}
}
