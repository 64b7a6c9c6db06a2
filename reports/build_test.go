package reports

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

func store(t *testing.T, dir string, b *historytest.Builder) {
	t.Helper()
	if err := b.Write(dir); err != nil {
		t.Fatal(err)
	}
}

func verdictJSON(t *testing.T, v verdict.Verdict) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// light is Healthy with a twentieth of its requests, which is quick to write.
func light() *historytest.Builder {
	return historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Seq%20 != 0 })
}

// storedRun is a folder with one recorded scenario that held, and the run.json that lists it.
func storedRun(t *testing.T) (dir string, file history.RunFile) {
	t.Helper()
	dir = t.TempDir()
	store(t, filepath.Join(dir, "chaos", "drain-one-worker"), light())
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return dir, history.RunFile{
		ID: "20260102-030405-test", Started: started, Ended: started.Add(time.Minute), Holdfast: "v0.1.0",
		Kubernetes: "v1.37.0", Profile: "lab", Seed: 7, Reproduce: "holdfast run --seed 7", Outcome: "held",
		Scenarios: []history.ScenarioResult{{
			Name: "chaos/drain-one-worker", Dir: "chaos/drain-one-worker", Took: 45 * time.Second, Outcome: "held",
			Reproduce: "holdfast run --seed 7 chaos/drain-one-worker",
			Verdicts:  []json.RawMessage{verdictJSON(t, held("NoFailedRequests", "none fails", "0 of 12000 failed", nil))},
		}},
	}
}

func build(t *testing.T, dir string, file history.RunFile) Report {
	t.Helper()
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	m, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBuild(t *testing.T) {
	dir, file := storedRun(t)
	m := build(t, dir, file)
	if m.Result != Held || len(m.Trouble) != 0 || m.Took != Seconds(time.Minute) || m.Cluster.ProxyMode != "nftables" {
		t.Errorf("%s, took %v on %+v, trouble %v", m.Result, m.Took, m.Cluster, m.Trouble)
	}
	s := m.Scenarios[0]
	if s.Sent() != 600 || s.Claim != "draining one worker is invisible to clients" || s.Took != Seconds(45*time.Second) ||
		s.Reproduce != "holdfast run --seed 7 chaos/drain-one-worker" || s.Why != "0 of 12000 failed" {
		t.Errorf("%d sent, claim %q, took %v, reproduce %q, why %q", s.Sent(), s.Claim, s.Took, s.Reproduce, s.Why)
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
		spoil  func(t *testing.T, dir string, file *history.RunFile)
		result Result
		why    string // a part of it
	}{
		"events cut off": {func(t *testing.T, dir string, _ *history.RunFile) {
			truncate(t, filepath.Join(dir, events))
		}, Unknown, "the record is incomplete"},
		"requests cut off": {func(t *testing.T, dir string, _ *history.RunFile) {
			files, _ := filepath.Glob(filepath.Join(dir, "chaos", "*", history.RequestsFolder, "*.csv"))
			if len(files) == 0 {
				t.Fatal("no files of requests")
			}
			truncate(t, files[0])
		}, Unknown, "the record is incomplete"},
		"record gone": {func(t *testing.T, dir string, _ *history.RunFile) {
			if err := os.RemoveAll(filepath.Join(dir, "chaos")); err != nil {
				t.Fatal(err)
			}
		}, Unknown, "the record is incomplete"},
		"record elsewhere": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Dir = "../../etc"
		}, Unknown, `its folder "../../etc" is not below the run's`},
		"another's record": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Name = "chaos/delete-pods"
		}, Unknown, "its folder has the record of chaos/drain-one-worker"},
		"verdict unreadable": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Verdicts[0] = json.RawMessage(`{"outcome":5}`)
		}, Unknown, "read verdict 1 of chaos/drain-one-worker"},
		"not judged": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Verdicts, file.Scenarios[0].Outcome = nil, ""
		}, Unknown, "no promise was judged"},
		"harness failed": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Verdicts, file.Scenarios[0].Error = nil, "create cluster: no room"
		}, Unknown, "the harness could not run or judge the scenario: create cluster: no room"},
		"the run's own word is worse": {func(_ *testing.T, _ string, file *history.RunFile) {
			file.Scenarios[0].Outcome = "unknown"
		}, Unknown, "run.json says unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := storedRun(t)
			test.spoil(t, dir, &file)
			m := build(t, dir, file)
			s := m.Scenarios[0]
			if s.Result != test.result || !strings.Contains(s.Why, test.why) {
				t.Errorf("%s because %q, want %s because %q", s.Result, s.Why, test.result, test.why)
			}
			if err := WriteAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestBuildMutantsOwnWord(t *testing.T) {
	for outcome, want := range map[string]Result{"held": Caught, "unknown": Unknown, "violated": Missed, "": Caught} {
		dir, file := storedRun(t)
		mutant := &history.Mutant{Removed: "x", CaughtBy: "NoFailedRequests", Twin: "chaos/drain-one-worker"}
		store(t, filepath.Join(dir, "mutants", "x"), named(light(), "mutants/x", "a claim").Header(func(h *history.Header) {
			h.Promises, h.Mutant = []history.Promise{{Kind: "NoFailedRequests"}}, mutant
		}))
		file.Scenarios = append([]history.ScenarioResult{{Name: "mutants/x", Dir: "mutants/x", Mutant: mutant, Outcome: outcome}}, file.Scenarios...)
		listed := &file.Scenarios[0]
		v := held("NoFailedRequests", "none fails", "9 failed", nil)
		v.Outcome, v.At = verdict.Violated, 20*time.Second
		listed.Verdicts = []json.RawMessage{verdictJSON(t, v)}
		if got := build(t, dir, file).Scenarios[0].Result; got != want {
			t.Errorf("the run said %q: %s, want %s", outcome, got, want)
		}
		// Of a mutant without its record nothing is known, whatever the run said.
		listed.Dir = "mutants/gone"
		if got := build(t, dir, file).Scenarios[0].Result; got != Unknown {
			t.Errorf("the run said %q, and the record is gone: %s", outcome, got)
		}
	}
}

func TestBuildAKilledRun(t *testing.T) {
	dir, file := storedRun(t)
	file.Ended = time.Time{}
	store(t, filepath.Join(dir, "chaos", "kill-one-worker"), named(light(), "chaos/kill-one-worker", "a claim"))
	m := build(t, dir, file)
	if m.Result != Unknown || len(m.Trouble) != 1 || len(m.Scenarios) != 2 {
		t.Fatalf("%s, trouble %v, %d scenarios", m.Result, m.Trouble, len(m.Scenarios))
	}
	if s := m.Scenarios[1]; s.Name != "chaos/kill-one-worker" || s.Result != Unknown || !strings.Contains(s.Why, "not judged") {
		t.Errorf("%s is %s: %s", s.Name, s.Result, s.Why)
	}
}

func TestBuildWithoutRunFile(t *testing.T) {
	dir, _ := storedRun(t)
	m, err := Build(dir)
	if err != nil || len(m.Scenarios) != 1 || len(m.Trouble) != 1 || m.Result != Unknown {
		t.Errorf("%d scenarios, trouble %v, %v", len(m.Scenarios), m.Trouble, err)
	}
	if _, err := Build(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no run.json") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Build(filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that is not there")
	}
}

func TestWriteAll(t *testing.T) {
	dir, file := storedRun(t)
	build(t, dir, file)
	if err := os.WriteFile(filepath.Join(dir, MarkdownFile), []byte("of yesterday"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteAll(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"chaos", JUnitFile, HTMLFile, JSONFile, MarkdownFile, "run.json"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	md, err := os.ReadFile(filepath.Join(dir, MarkdownFile))
	if err != nil || !strings.HasPrefix(string(md), "## ✅ Held: holdfast run `20260102-030405-test`\n") {
		t.Errorf("%s %v", md, err)
	}
}

func TestWriteAllReportsEveryFailure(t *testing.T) {
	dir, file := storedRun(t)
	build(t, dir, file)
	for _, name := range []string{JSONFile, MarkdownFile} { // a folder in its place cannot be replaced
		if err := os.MkdirAll(filepath.Join(dir, name, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	err := WriteAll(dir)
	if err == nil || !strings.Contains(err.Error(), "write report.json: ") || !strings.Contains(err.Error(), "write report.md: ") {
		t.Errorf("%v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := os.Stat(filepath.Join(dir, HTMLFile)); err != nil {
		t.Error(err)
	}
}
