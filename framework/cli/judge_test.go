package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// still is a record of a promise that held: few events, and the promise reads no requests.
func still(t *testing.T, name string) *historytest.Builder {
	t.Helper()
	promise, err := invariant.Encode(invariant.BudgetHonoured{})
	if err != nil {
		t.Fatal(err)
	}
	return historytest.Healthy().DropRequests(func(history.Request) bool { return true }).Header(func(h *history.Header) {
		h.Scenario, h.Promises = name, []history.Promise{promise}
	})
}

// broken is a record of a broken promise: an eviction was accepted that left one pod of six.
func broken(t *testing.T, name string) *historytest.Builder {
	t.Helper()
	promise, err := invariant.Encode(invariant.BudgetHonoured{AtLeast: 6})
	if err != nil {
		t.Fatal(err)
	}
	return still(t, name).Header(func(h *history.Header) { h.Promises = []history.Promise{promise} })
}

const noNetem = "Specified qdisc kind is unknown"

// refusing is a record of an unsupported scenario, in which 500 requests were refused.
func refusing(t *testing.T, name string) *historytest.Builder {
	t.Helper()
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		t.Fatal(err)
	}
	return historytest.Unsupported(historytest.Healthy(), noNetem).Fail(history.LaneFresh, 20*time.Second, 22500*time.Millisecond, history.Refused).
		Header(func(h *history.Header) { h.Scenario, h.Promises = name, []history.Promise{promise} })
}

// mutant turns a record into the record of a mutant.
func mutant(b *historytest.Builder) *historytest.Builder {
	return b.Header(func(h *history.Header) {
		h.Mutant = &history.Mutant{Removed: "a budget", CaughtBy: "BudgetHonoured", Twin: "chaos/twin"}
	})
}

// store writes records below a folder, in folders with their scenarios' names.
func store(t *testing.T, dir string, builders ...*historytest.Builder) {
	t.Helper()
	for _, b := range builders {
		if err := b.Write(filepath.Join(dir, filepath.FromSlash(b.Run().Header.Scenario))); err != nil {
			t.Fatal(err)
		}
	}
}

// overwrite replaces the content of a file.
func overwrite(t *testing.T, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func TestJudgeARun(t *testing.T) {
	const newer = `{"t":0,"header":{"format":99}}` + "\n"
	for name, test := range map[string]struct {
		records []*historytest.Builder
		spoil   func(dir string)
		code    int
		out     []string // in the output
		not     string   // not in the output
		err     string
	}{
		"all held": {records: []*historytest.Builder{still(t, "chaos/a"), still(t, "chaos/b")}, code: exit.Held,
			out: []string{"chaos/a", "chaos/b", "held", "no eviction takes"}},
		"one violated": {records: []*historytest.Builder{still(t, "chaos/a"), broken(t, "chaos/b")}, code: exit.Violated,
			out: []string{"held", "violated", "demands 6"}, err: "violated: at least one promise was broken"},
		"one unknown": {records: []*historytest.Builder{still(t, "chaos/a"), still(t, "chaos/b").Incomplete("killed")},
			code: exit.Unknown, out: []string{"held", "unknown", "the record is incomplete"}, err: "unknown: evidence is missing"},
		"violated and unknown": {records: []*historytest.Builder{broken(t, "chaos/a"), still(t, "chaos/b").Incomplete("killed")},
			code: exit.Violated, out: []string{"violated", "unknown"}, err: "violated: "},
		"a mutant caught": {records: []*historytest.Builder{mutant(broken(t, "mutants/a"))}, code: exit.Held,
			out: []string{"BudgetHonoured catches a", "without a budget", "\n  caught        BudgetHonoured catches a", "caught: ", "violated", "0 scenarios held, 0 violated, 0 unknown; 1 of 1 mutants caught"}},
		"a mutant missed": {records: []*historytest.Builder{mutant(still(t, "mutants/a"))}, code: exit.Violated,
			out: []string{"\n  missed        ", "missed: "}, err: "violated: "},
		"a mutant that is broken for another reason than it plants": {
			records: []*historytest.Builder{mutant(broken(t, "mutants/a")).Header(func(h *history.Header) { h.Mutant.Cause = "scale-down" })},
			code:    exit.Unknown, out: []string{
				"no verdict: scale-down is the cause that was planted, but none was reported: ",
				"causes: 0 of 1 mutants were caught for the reason that was planted",
				"causes: scale-down was planted, and none reported (1)",
			}, err: "unknown: ",
		},
		"a mutant and its twin": {
			records: []*historytest.Builder{mutant(broken(t, "mutants/a")), still(t, "chaos/twin")}, code: exit.Held, out: []string{"caught: "},
			not: "its twin",
		},
		"a mutant and its twin, which is broken as well": {
			records: []*historytest.Builder{mutant(broken(t, "mutants/a")), broken(t, "chaos/twin")}, code: exit.Violated,
			out: []string{"caught: ", "mutants/a: its twin was violated in the same run"}, err: "violated: ",
		},
		"a mutant alone": {records: []*historytest.Builder{mutant(broken(t, "mutants/a"))}, code: exit.Held,
			out: []string{"mutants/a: its twin was not run"}},
		"a mutant with a trap": {
			records: []*historytest.Builder{mutant(broken(t, "mutants/a")).Header(func(h *history.Header) { h.Mutant.Trap = true })}, code: exit.Held,
			out: []string{"mutants/a: its server sets a trap: it waits up to a second for a request that it can hurt"},
		},
		"a mutant that is caught by chance, and was not": {
			records: []*historytest.Builder{mutant(still(t, "mutants/a")).Header(func(h *history.Header) { h.Mutant.ByChance = true })}, code: exit.Held,
			out: []string{"not caught, which is allowed", "mutants/a: it is caught by chance alone"},
		},
		"a promise of the future": {
			records: []*historytest.Builder{still(t, "chaos/a").Header(func(h *history.Header) {
				h.Promises = append(h.Promises, history.Promise{Kind: "Eternity"})
			})},
			code: exit.Unknown, out: []string{"Eternity", "this version of holdfast does not know kind"}, err: "unknown: ",
		},
		"no promise": {
			records: []*historytest.Builder{still(t, "chaos/a").Header(func(h *history.Header) { h.Promises = nil })},
			code:    exit.Unknown, err: "unknown: ",
		},
		"one that cannot be read": {
			records: []*historytest.Builder{still(t, "chaos/b")},
			spoil:   func(dir string) { overwrite(t, filepath.Join(dir, "chaos", "a", history.EventsFile), "") },
			code:    exit.Failed, out: []string{"chaos/b", "held"}, err: "events.jsonl is empty: nothing was recorded",
		},
		"one of a newer format, and one violated": {
			records: []*historytest.Builder{broken(t, "chaos/b")},
			spoil:   func(dir string) { overwrite(t, filepath.Join(dir, "chaos", "a", history.EventsFile), newer) },
			code:    exit.Violated, out: []string{"chaos/b", "violated"}, err: "is of format 99",
		},
		"one that is not supported, and one that held": {
			records: []*historytest.Builder{still(t, "chaos/a"), historytest.Unsupported(still(t, "chaos/b"), noNetem)},
			code:    exit.Held, out: []string{"held", "not supported", noNetem},
		},
		"none that is supported": {
			records: []*historytest.Builder{historytest.Unsupported(still(t, "chaos/b"), noNetem)},
			code:    exit.Unknown, out: []string{"not supported"}, err: "unknown: ",
		},
		"500 refused requests beside the word that it is not supported": {
			records: []*historytest.Builder{still(t, "chaos/a"), refusing(t, "chaos/b")},
			code:    exit.Violated, out: []string{"held", "violated", "500 of "}, err: "violated: ",
		},
		"not supported, in nobody's words": {
			records: []*historytest.Builder{still(t, "chaos/a"), historytest.Unsupported(still(t, "chaos/b"), "sh: tc: not found")},
			code:    exit.Unknown, out: []string{"held", "unknown", "sh: tc: not found"}, err: "unknown: ",
		},
		"nothing": {code: exit.Failed, err: "there is no record in it; give a run's folder, such as artifacts/latest"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			store(t, dir, test.records...)
			if test.spoil != nil {
				test.spoil(dir)
			}
			out, code, err := execute(t, "judge", dir)
			if code != test.code || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("exit code %d, %v; want %d and %q", code, err, test.code, test.err)
			}
			for _, want := range test.out {
				if !strings.Contains(out, want) {
					t.Errorf("it says\n%s\nwant %q in it", out, want)
				}
			}
			if test.not != "" && strings.Contains(out, test.not) {
				t.Errorf("it says\n%s\nwant no %q in it", out, test.not)
			}
		})
	}
}

func TestJudgeWhatIsNoRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	overwrite(t, file, "{}")
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), file} {
		_, code, err := execute(t, "judge", path)
		if code != exit.Failed || !strings.Contains(err.Error(), path) {
			t.Errorf("judge %s: exit code %d, %v; want 3 and the path", path, code, err)
		}
	}
}

// judge accepts the folder of a run, a symbolic link to it, and the folder of one scenario.
func TestJudgeTakesAnyFolder(t *testing.T) {
	dir := t.TempDir()
	store(t, filepath.Join(dir, "r1"), still(t, "chaos/a"), broken(t, "chaos/b"))
	if err := os.Symlink("r1", filepath.Join(dir, runfolder.LatestName)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"latest": exit.Violated, "r1/chaos/a": exit.Held, "r1/chaos": exit.Violated, "latest/chaos/a": exit.Held} {
		if _, code, err := execute(t, "judge", filepath.Join(dir, path)); code != want {
			t.Errorf("judge %s: exit code %d, %v; want %d", path, code, err, want)
		}
	}
}

// files are the names and contents of all files below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// If a good record is cut off anywhere, or one of its bits is flipped, its promise is Unknown, or the record is unreadable. It is never
// Held or Violated. judge does not change the record.
func TestADamagedRecordNeverHolds(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, still(t, "chaos/a"))
	if _, code, err := execute(t, "judge", dir); code != exit.Held {
		t.Fatalf("before anything is damaged: exit code %d, %v", code, err)
	}
	events := filepath.Join(dir, "chaos", "a", history.EventsFile)
	whole, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	check := func(what string, at int, text []byte, allowed ...int) {
		overwrite(t, events, string(text))
		if _, code, err := execute(t, "judge", dir); !slices.Contains(allowed, code) {
			t.Errorf("%s at byte %d of %d: exit code %d, %v; want one of %v", what, at, len(whole), code, err, allowed)
		}
	}
	for at := range whole {
		if whole[at] == '\n' && at+1 < len(whole) || at%199 == 0 { // after each line, and at some places within lines
			check("cut off", at+1, whole[:at+1], exit.Unknown, exit.Failed)
		}
		if at%199 == 0 {
			turned := bytes.Clone(whole)
			turned[at] ^= 1
			check("a bit turned", at, turned, exit.Unknown, exit.Failed)
		}
	}
	overwrite(t, events, string(whole))
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("judging changed files (-before +after):\n%s", diff)
	}
}

// The same holds for the files with the requests.
func TestRequestsThatAreGoneAreMissed(t *testing.T) {
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	store(t, dir, historytest.Healthy().Header(func(h *history.Header) {
		h.Scenario, h.Promises = "chaos/a", []history.Promise{promise}
	}))
	requests, err := filepath.Glob(filepath.Join(dir, "chaos", "a", history.RequestsFolder, "*"))
	if err != nil || len(requests) == 0 {
		t.Fatalf("no requests: %v", err)
	}
	for name, text := range files(t, filepath.Join(dir, "chaos", "a", history.RequestsFolder)) {
		overwrite(t, name, text[:len(text)/2])
		if _, code, err := execute(t, "judge", dir); code != exit.Unknown {
			t.Errorf("%s cut in half: exit code %d, %v; want 5", filepath.Base(name), code, err)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
		if _, code, err := execute(t, "judge", dir); code != exit.Unknown {
			t.Errorf("without %s: exit code %d, %v; want 5", filepath.Base(name), code, err)
		}
		overwrite(t, name, text)
	}
}

// storeRun writes a complete run: records, and the run.json that a run would have written.
func storeRun(t *testing.T, builders ...*historytest.Builder) (dir string, file runfolder.File) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "r1")
	for _, b := range builders {
		b.Header(func(h *history.Header) { h.RunID = "r1" })
	}
	store(t, dir, builders...)
	file = runfolder.File{
		ID: "r1", Started: time.Unix(0, 0), Ended: time.Unix(60, 0), Holdfast: "v1.2.3", Seed: 1, Reproduce: "holdfast run --seed 1",
	}
	for _, b := range builders {
		run := b.Run()
		one := runfolder.ScenarioResult{Name: run.Header.Scenario, Dir: run.Header.Scenario, Mutant: run.Header.Mutant}
		verdicts := judge.Judge(run)
		for _, v := range verdicts {
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			one.Verdicts = append(one.Verdicts, text)
		}
		outcome := judge.Overall(verdicts)
		if run.Header.Mutant != nil {
			outcome = judge.Caught(run, verdicts).Outcome
		}
		one.Outcome = string(outcome)
		one.CutShort(run.Interrupted())
		file.Scenarios = append(file.Scenarios, one)
	}
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir, file
}
