package trend_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

var drained = scenario{Name: "chaos/drain-one-worker", Outcome: verdict.Held, Recovery: 2, P99: 0.004, Blind: 0.1}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, root string) []*trend.Night {
	t.Helper()
	all, err := trend.Read(root)
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

func TestANight(t *testing.T) {
	root := t.TempDir()
	s := drained
	s.Failed, s.Outcome, s.Of = 7, verdict.Violated, "shop/web"
	usualNight(0, s).Store(t, root)
	all := read(t, root)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	n := all[0]
	got := n.Scenarios[0].Measured()
	want := map[string]float64{"recovery": 2, "p99": 0.004, "failed": 7, "blind": 0.1, "missing evidence": 0, "broken": 1, "unknown": 0}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if n.ID != "20260101-020000" || !n.At.Equal(first) || n.Result != reports.Violated || n.Trouble != "" || n.Page != "20260101-020000/report.html" {
		t.Errorf("%+v", n)
	}
	if line := n.Scenarios[0].Line; line != "Kubernetes v1.37, application shop/web, timings lab, nftables, kind, podman, 4 cores amd64" {
		t.Errorf("line %q", line)
	}
	wantVersions := trend.Versions{"v1.37.0", "holdfast/node:v1.37.0", "v0.1.0", "podman 5.4.2", "6.18.5", "Some CPU"}
	if diff := cmp.Diff(wantVersions, n.Scenarios[0].Versions); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

// What is not judged has no figures but the share of unknown nights, and a mutant has none of its broken workload.
func TestScenariosWithoutFigures(t *testing.T) {
	for name, s := range map[string]struct {
		scenario scenario
		want     map[string]float64
	}{
		"unknown":       {scenario{Name: "chaos/a", Outcome: verdict.Unknown, Recovery: 2, P99: 1}, map[string]float64{"unknown": 1}},
		"caught mutant": {scenario{Name: "mutants/a", Mutant: true, Outcome: verdict.Violated, Recovery: 2, P99: 1, Failed: 90, Blind: 0.1}, map[string]float64{"blind": 0.1, "missing evidence": 0, "broken": 0, "unknown": 0}},
		"missed mutant": {scenario{Name: "mutants/a", Mutant: true, Outcome: verdict.Held, Blind: 0.1}, map[string]float64{"blind": 0.1, "missing evidence": 0, "broken": 1, "unknown": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			usualNight(0, s.scenario).Store(t, root)
			if got := read(t, root)[0].Scenarios[0].Measured(); !maps.Equal(got, s.want) {
				t.Errorf("%v, want %v", got, s.want)
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
			s.spoil(t, usualNight(0, drained).Store(t, root))
			all := read(t, root)
			if len(all) != 1 {
				t.Fatalf("%d nights", len(all))
			}
			n := all[0]
			if strings.Contains(n.Trouble, root) {
				t.Errorf("%q names folders of this machine", n.Trouble)
			}
			if (n.Trouble == "") != (s.trouble == "") || !strings.Contains(n.Trouble, s.trouble) || n.ID != "20260101-020000" || !n.At.Equal(first) {
				t.Errorf("%+v, want trouble %q", n, s.trouble)
			}
			if got := len(n.Scenarios) > 0 && n.Scenarios[0].Measured()["recovery"] > 0; got != s.figures {
				t.Errorf("figures: %v, want %v", got, s.figures)
			}
		})
	}
}

// TestOrderAndCopies: nights are in the order of time, two runs of the same second are two runs, and a copy counts once.
func TestOrderAndCopies(t *testing.T) {
	root := t.TempDir()
	usualNight(2, drained).Store(t, root)
	usualNight(0, drained).Store(t, root)
	same := usualNight(2, drained)
	same.Seed = 99
	same.StoreIn(t, filepath.Join(root, "iptables", same.ID()))
	usualNight(0, drained).StoreIn(t, filepath.Join(root, "copy"))
	must(t, runfolder.PointLatest(root, usualNight(2).ID()))
	var got []string
	all := read(t, root)
	for _, n := range all {
		got = append(got, n.Dir)
	}
	if diff := cmp.Diff([]string{"20260101-020000", "copy", "20260103-020000", "iptables/20260103-020000"}, got); diff != "" {
		t.Errorf("nights (-want +got):\n%s", diff)
	}
	if got2 := trend.Of(all, 30); len(got2.Lines) != 1 || got2.Lines[0].Nights != 3 || !slices.Equal(got2.Left, []string{"copy: the run is also in another folder"}) {
		t.Errorf("%+v", got2)
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
	if len(all) != 2 {
		t.Fatalf("%+v", all)
	}
	run, orphan := all[0], all[1]
	if run.Dir != "run" { // an orphan's time is that of no run.json
		run, orphan = orphan, run
	}
	if run.Trouble != "" || run.Result != reports.Held || run.Scenarios[0].Line == "" || run.Page != "run/" {
		t.Errorf("%+v", run)
	}
	if orphan.Dir != "orphan" || !strings.Contains(orphan.Trouble, "no run.json") || !strings.Contains(orphan.Trouble, "has no place among the nights") || orphan.Result == reports.Held {
		t.Errorf("%+v", orphan)
	}
}

func TestCertificates(t *testing.T) {
	root := t.TempDir()
	storeCertificate(t, root, 0, certificate.Certified, 0)
	bad := storeCertificate(t, root, 1, certificate.NotCertified, 5)
	usualNight(0, drained).StoreIn(t, filepath.Join(bad, "before")) // a part of the certification is no night of its own
	damaged := storeCertificate(t, root, 2, certificate.Certified, 0)
	must(t, os.WriteFile(filepath.Join(damaged, certificate.JSONFile), []byte("{"), 0o644))
	all := read(t, root)
	if len(all) != 3 {
		t.Fatalf("%d nights", len(all))
	}
	for i, want := range []reports.Result{reports.Held, reports.Violated, reports.Unknown} {
		n := all[i]
		if n.Result != want || (n.Trouble == "") != (i < 2) || n.Page != n.Dir+"/certificate.html" {
			t.Errorf("%+v", n)
		}
	}
	n := all[1]
	if len(n.Scenarios) != 2 || n.Scenarios[0].Name != "the upgrade" || n.Scenarios[0].Measured()["failed"] != 5 || n.Scenarios[0].Measured()["recovery"] != 2.5 {
		t.Errorf("%+v", n)
	}
	if text := n.Scenarios[0].Line; text != "certificates of Kubernetes v1.36 to v1.37, 4 cores amd64" {
		t.Errorf("line %q", text)
	}
}

func TestFoldersWithoutNights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for name, want := range map[string]string{file: "not a directory", filepath.Join(t.TempDir(), "absent"): "no such file"} {
		if _, err := trend.Read(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if all := read(t, t.TempDir()); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
