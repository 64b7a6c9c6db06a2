package nights_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/nights"
	"github.com/holdfast-ha/holdfast/reports/nights/nightstest"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

var drained = nightstest.Scenario{Name: "chaos/drain-one-worker", Outcome: verdict.Held, Recovery: 2, P99: 0.004, Blind: 0.1}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root string) nights.Nights {
	t.Helper()
	all, err := nights.Read(root)
	must(t, err)
	return all
}

// edit changes what is written in a file.
func edit(t *testing.T, name, from, to string) {
	t.Helper()
	text, err := os.ReadFile(name)
	must(t, err)
	if !strings.Contains(string(text), from) {
		t.Fatalf("no %q in %s", from, name)
	}
	must(t, os.WriteFile(name, []byte(strings.ReplaceAll(string(text), from, to)), 0o644))
}

// named is a figure of the only scenario of a night.
func named(t *testing.T, n nights.Night, name string) float64 {
	t.Helper()
	for i, f := range nights.Figures {
		if f.Name == name {
			return n.Scenarios[0].Figures[i]
		}
	}
	t.Fatalf("no figure %s", name)
	return 0
}

func TestANight(t *testing.T) {
	root := t.TempDir()
	s := drained
	s.Failed, s.Outcome, s.Of = 7, verdict.Violated, "shop/web"
	nightstest.Usual(0, s).Store(t, root)
	all := read(t, root)
	if len(all.List) != 1 || len(all.Twice) != 0 {
		t.Fatalf("%+v", all)
	}
	n := all.List[0]
	got := map[string]float64{}
	for i, f := range nights.Figures {
		if v := n.Scenarios[0].Figures[i]; !math.IsNaN(v) {
			got[f.Name] = v
		}
	}
	want := map[string]float64{"recovery": 2, "p99": 0.004, "failed": 7, "blind": 0.1, "missing evidence": 0, "broken": 1, "unknown": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if n.ID != "20260101-020000" || !n.At.Equal(nightstest.First) || n.Result != reports.Violated || n.Trouble != "" || n.Page != "20260101-020000/report.html" || !n.Anchors {
		t.Errorf("%+v", n)
	}
	wantLine := nights.Line{Application: "shop/web", Kubernetes: "v1.37", Profile: "lab", ProxyMode: "nftables", Provider: "kind", Engine: "podman", Cores: 4, Arch: "amd64"}
	if diff := cmp.Diff(wantLine, n.Scenarios[0].Line); diff != "" {
		t.Errorf("line (-want +got):\n%s", diff)
	}
	if text := wantLine.String(); text != "Kubernetes v1.37, application shop/web, lab timings, nftables, kind on podman, 4 cores amd64" {
		t.Errorf("line %q", text)
	}
	wantVersions := nights.Versions{Kubernetes: "v1.37.0", Image: "holdfast/node:v1.37.0", Holdfast: "v0.1.0", Engine: "podman 5.4.2", Kernel: "6.18.5", CPU: "Some CPU"}
	if diff := cmp.Diff(wantVersions, n.Scenarios[0].Versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// What is not judged has no figures but the share of unknown nights, and a mutant has none of its broken workload.
func TestScenariosWithoutFigures(t *testing.T) {
	for name, s := range map[string]struct {
		scenario nightstest.Scenario
		want     string
	}{
		"unknown":       {nightstest.Scenario{Name: "chaos/a", Outcome: verdict.Unknown, Recovery: 2, P99: 1}, "unknown 1"},
		"caught mutant": {nightstest.Scenario{Name: "mutants/a", Mutant: true, Outcome: verdict.Violated, Recovery: 2, P99: 1, Failed: 90, Blind: 0.1}, "blind 0.1, missing evidence 0, broken 0, unknown 0"},
		"missed mutant": {nightstest.Scenario{Name: "mutants/a", Mutant: true, Outcome: verdict.Held, Blind: 0.1}, "blind 0.1, missing evidence 0, broken 1, unknown 0"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			nightstest.Usual(0, s.scenario).Store(t, root)
			var got []string
			for i, f := range nights.Figures {
				if v := read(t, root).List[0].Scenarios[0].Figures[i]; !math.IsNaN(v) {
					got = append(got, fmt.Sprintf("%s %g", f.Name, v))
				}
			}
			if text := strings.Join(got, ", "); text != s.want {
				t.Errorf("%s, want %s", text, s.want)
			}
		})
	}
}

// TestNightsThatAreNotWhole: each is there, with the reason.
func TestNightsThatAreNotWhole(t *testing.T) {
	for name, s := range map[string]struct {
		spoil   func(t *testing.T, dir string)
		trouble string // part of it; empty: the night is whole
		figures bool
	}{
		"whole":               {func(*testing.T, string) {}, "", true},
		"only report.json":    {func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "run.json"))) }, "", true},
		"run.json was edited": {func(t *testing.T, dir string) { edit(t, filepath.Join(dir, "run.json"), "v0.1.0", "v9.9.9") }, "it was changed", false},
		"no report.json":      {func(t *testing.T, dir string) { must(t, os.Remove(filepath.Join(dir, "report.json"))) }, "", false}, // nor a record
		"NaN in report.json": {func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "run.json")))
			edit(t, filepath.Join(dir, "report.json"), `"recoveredSeconds": 2`, `"recoveredSeconds": NaN`)
		}, "report.json is damaged: invalid character 'N'", false},
		"half a report.json": {func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "run.json")))
			must(t, os.Truncate(filepath.Join(dir, "report.json"), 700))
		}, "report.json is damaged: unexpected end of JSON input", false},
		"a later version": {func(t *testing.T, dir string) {
			must(t, os.Remove(filepath.Join(dir, "run.json")))
			edit(t, filepath.Join(dir, "report.json"), reports.SchemaVersion, "holdfast.dev/report/v2")
		}, `has version "holdfast.dev/report/v2", but this holdfast reads only holdfast.dev/report/v1`, false},
		"empty files": {func(t *testing.T, dir string) {
			must(t, os.Truncate(filepath.Join(dir, "run.json"), 0))
			must(t, os.Truncate(filepath.Join(dir, "report.json"), 0))
		}, "is damaged", false},
		"killed": {func(t *testing.T, dir string) {
			f, err := runfolder.ReadFile(dir)
			must(t, err)
			f.Ended = time.Time{}
			must(t, f.Write(dir))
		}, "the run did not end: it was killed, or is still running", false},
		"one was chosen, and its result is gone": {func(t *testing.T, dir string) {
			f, err := runfolder.ReadFile(dir)
			must(t, err)
			f.Chosen = []runfolder.Chosen{{Name: drained.Name}, {Name: "chaos/b"}}
			must(t, f.Write(dir))
		}, "no result of 1 scenario of the 2 that were chosen: chaos/b", false},
		"interrupted": {func(t *testing.T, dir string) {
			f, err := runfolder.ReadFile(dir)
			must(t, err)
			f.Interrupted, f.Scenarios[0] = "SIGINT", runfolder.ScenarioResult{Name: drained.Name, NotBegun: "the run was interrupted"}
			must(t, f.Write(dir))
			must(t, os.Remove(filepath.Join(dir, "report.json")))
		}, "interrupted by SIGINT", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s.spoil(t, nightstest.Usual(0, drained).Store(t, root))
			all := read(t, root)
			if len(all.List) != 1 {
				t.Fatalf("%d nights", len(all.List))
			}
			n := all.List[0]
			if strings.Contains(n.Trouble, root) {
				t.Errorf("%q names folders of this machine", n.Trouble)
			}
			if (n.Trouble == "") != (s.trouble == "") || !strings.Contains(n.Trouble, s.trouble) || n.ID != "20260101-020000" || !n.At.Equal(nightstest.First) {
				t.Errorf("%+v, want trouble %q", n, s.trouble)
			}
			if got := len(n.Scenarios) > 0 && !math.IsNaN(named(t, n, "recovery")); got != s.figures {
				t.Errorf("figures: %v, want %v", got, s.figures)
			}
		})
	}
}

// TestAbsurdFigures: a number that no run can have is left out, and named.
func TestAbsurdFigures(t *testing.T) {
	for _, number := range []string{"-1", "1e300", "1e12"} {
		root := t.TempDir()
		dir := nightstest.Usual(0, drained).Store(t, root)
		edit(t, filepath.Join(dir, "report.json"), `"recoveredSeconds": 2`, `"recoveredSeconds": `+number)
		edit(t, filepath.Join(dir, "report.json"), `"p99Seconds": 0.004`, `"p99Seconds": `+number)
		n := read(t, root).List[0]
		if !math.IsNaN(named(t, n, "recovery")) || !math.IsNaN(named(t, n, "p99")) || len(n.Absurd) != 2 || n.Trouble != "" || named(t, n, "failed") != 0 {
			t.Errorf("%s: %+v", number, n)
		}
	}
}

// TestOrderAndCopies: nights are in the order of time, two runs of the same second are two runs, and a copy counts once.
func TestOrderAndCopies(t *testing.T) {
	root := t.TempDir()
	nightstest.Usual(2, drained).Store(t, root)
	nightstest.Usual(0, drained).Store(t, root)
	same := nightstest.Usual(2, drained)
	same.Seed = 99
	same.StoreIn(t, filepath.Join(root, "iptables", same.ID()))
	copied := filepath.Join(root, "a", "copy")
	nightstest.Usual(0, drained).StoreIn(t, copied)
	must(t, os.Remove(filepath.Join(copied, "report.html"))) // the copy has less to look at
	must(t, runfolder.PointLatest(root, nightstest.Usual(2).ID()))
	var got []string
	all := read(t, root)
	for _, n := range all.List {
		got = append(got, n.Dir)
	}
	if diff := cmp.Diff([]string{"20260101-020000", "20260103-020000", "iptables/20260103-020000"}, got); diff != "" {
		t.Errorf("nights (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a/copy"}, all.Twice); diff != "" {
		t.Errorf("copies (-want +got):\n%s", diff)
	}
}

// TestARecordWithoutAReport: the report is built from the record.
func TestARecordWithoutAReport(t *testing.T) {
	root := t.TempDir()
	dir, file := reporttest.StoredRun(t)
	must(t, file.Write(dir))
	must(t, os.CopyFS(filepath.Join(root, "run"), os.DirFS(dir)))
	must(t, os.CopyFS(filepath.Join(root, "orphan"), os.DirFS(dir)))
	must(t, os.Remove(filepath.Join(root, "orphan", "run.json")))
	must(t, os.CopyFS(filepath.Join(root, "orphan", runfolder.SetAsidePrefix+"1"), os.DirFS(dir)))
	all := read(t, root)
	if len(all.List) != 2 {
		t.Fatalf("%+v", all.List)
	}
	run, orphan := all.List[0], all.List[1]
	if run.Dir != "run" { // an orphan's time is that of no run.json
		run, orphan = orphan, run
	}
	if run.Trouble != "" || run.Result != reports.Held || run.Scenarios[0].Line.ProxyMode == "" || run.Page != "" {
		t.Errorf("%+v", run)
	}
	if orphan.Dir != "orphan" || !strings.Contains(orphan.Trouble, "no run.json") || !strings.Contains(orphan.Trouble, "has no place among the nights") || orphan.Result == reports.Held {
		t.Errorf("%+v", orphan)
	}
}

func TestCertificates(t *testing.T) {
	root := t.TempDir()
	nightstest.StoreCertificate(t, root, 0, certificate.Certified, 0)
	bad := nightstest.StoreCertificate(t, root, 1, certificate.NotCertified, 5)
	nightstest.Usual(0, drained).StoreIn(t, filepath.Join(bad, "before")) // a part of the certification is no night of its own
	damaged := nightstest.StoreCertificate(t, root, 2, certificate.Certified, 0)
	must(t, os.WriteFile(filepath.Join(damaged, certificate.JSONFile), []byte("{"), 0o644))
	all := read(t, root)
	if len(all.List) != 3 {
		t.Fatalf("%d nights", len(all.List))
	}
	for i, want := range []reports.Result{reports.Held, reports.Violated, reports.Unknown} {
		n := all.List[i]
		if n.Result != want || !n.Certificate || (n.Trouble == "") != (i < 2) || n.Page != n.Dir+"/certificate.html" {
			t.Errorf("%+v", n)
		}
	}
	n := all.List[1]
	if len(n.Scenarios) != 2 || n.Scenarios[0].Name != nights.Upgrade || named(t, n, "failed") != 5 || named(t, n, "recovery") != 2.5 {
		t.Errorf("%+v", n)
	}
	if text := n.Scenarios[0].Line.String(); text != "certificates of Kubernetes v1.36 to v1.37, 4 cores amd64" {
		t.Errorf("line %q", text)
	}
}

func TestFoldersWithoutNights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for name, want := range map[string]string{file: "it is a file", filepath.Join(t.TempDir(), "absent"): "no such folder"} {
		if _, err := nights.Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if all := read(t, t.TempDir()); len(all.List) != 0 {
		t.Errorf("%+v", all)
	}
}
