package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// move replaces one folder or file by another.
func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// judge and report compare the records with run.json: a record may be missing, or may be of another scenario or run.
func TestJudgeMissesWhatIsNotThere(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string, file runfolder.File)
		code  int
		err   string
	}{
		"nothing": {func(*testing.T, string, runfolder.File) {}, exit.Held, ""},
		"a record is gone": {func(t *testing.T, dir string, _ runfolder.File) {
			move(t, filepath.Join(dir, "chaos", "b"), filepath.Join(dir, "b"))
		},
			exit.Failed, "judge r1: run.json says that chaos/b was judged, and its record is not in "},
		"only its events are gone": {func(t *testing.T, dir string, _ runfolder.File) {
			move(t, filepath.Join(dir, "chaos", "b", history.EventsFile), filepath.Join(dir, "chaos", "b", "x"))
		}, exit.Failed, "run.json says that chaos/b was judged"},
		"two are swapped": {func(t *testing.T, dir string, _ runfolder.File) {
			a, b, aside := filepath.Join(dir, "chaos", "a"), filepath.Join(dir, "chaos", "b"), filepath.Join(dir, "aside")
			move(t, a, aside)
			move(t, b, a)
			move(t, aside, b)
		}, exit.Failed, "lies the record of chaos/b of run r1, and run.json says that it is that of chaos/a"},
		"one takes another's place": {func(t *testing.T, dir string, _ runfolder.File) {
			move(t, filepath.Join(dir, "chaos", "a"), filepath.Join(dir, "chaos", "b"))
		}, exit.Failed, "run.json says that chaos/a was judged"},
		"one of another run": {func(t *testing.T, dir string, file runfolder.File) {
			file.ID = "r2"
			if err := file.Write(dir); err != nil {
				t.Fatal(err)
			}
		}, exit.Failed, "lies the record of chaos/a of run r1, and run.json says"},
		"one was never begun": {func(t *testing.T, dir string, file runfolder.File) {
			file.Scenarios = append(file.Scenarios, runfolder.ScenarioResult{Name: "chaos/c", Dir: "chaos/c", Error: "not begun"})
			if err := file.Write(dir); err != nil {
				t.Fatal(err)
			}
		}, exit.Failed, "the harness or its environment failed"},
		"run.json is of a newer format": {func(t *testing.T, dir string, _ runfolder.File) {
			overwrite(t, filepath.Join(dir, runfolder.FileName), `{"format": 99}`)
		}, exit.Failed, "is of format 99, and this holdfast reads formats up to 1: use a newer one"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := storeRun(t, still(t, "chaos/a"), still(t, "chaos/b"))
			test.spoil(t, dir, file)
			out, code, err := execute(t, "judge", dir)
			if code != test.code || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("exit code %d, %v; want %d and %q", code, err, test.code, test.err)
			}
			if !strings.Contains(out, "held") {
				t.Errorf("the others are not judged:\n%s", out)
			}
			if out, code, _ := execute(t, "report", dir); code != test.code {
				t.Errorf("report ends with %d; want %d\n%s", code, test.code, out)
			}
			// The same for all runs at once.
			if _, code, _ := execute(t, "judge", filepath.Dir(dir)); code != test.code {
				t.Errorf("of the folder above: exit code %d; want %d", code, test.code)
			}
		})
	}
}

// A run.json that is cut off anywhere, or changed at any byte, is an error.
func TestADamagedRunFileIsAnError(t *testing.T) {
	const seed, sample = 1, 60
	dir, _ := storeRun(t, still(t, "chaos/a"))
	name := filepath.Join(dir, runfolder.FileName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, code, err := execute(t, "judge", dir); code != exit.Held {
		t.Fatalf("before anything is damaged: exit code %d, %v", code, err)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	for range sample {
		at := random.IntN(len(whole))
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1 << random.IntN(8)
		for what, text := range map[string][]byte{"cut off": whole[:at], "changed": flipped} {
			overwrite(t, name, string(text))
			if _, code, err := execute(t, "judge", dir); code != exit.Failed || !strings.Contains(err.Error(), name) {
				t.Errorf("%s at byte %d: exit code %d, %v; want 3 and the file's name", what, at, code, err)
			}
		}
	}
}

// TestJudgeAPartOfARun: what only the run's own run.json knows of a scenario counts although the scenario is judged alone, and what it says of others does not.
func TestJudgeAPartOfARun(t *testing.T) {
	const spoiled = "the recorder failed: disk full"
	for name, test := range map[string]struct {
		spoil func(t *testing.T, dir string, f *runfolder.File)
		alone int // exit code of chaos/a
		part  int // of chaos
	}{
		"whole": {func(*testing.T, string, *runfolder.File) {}, exit.Held, exit.Held},
		"the harness failed in it": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Scenarios[0].Error, f.Scenarios[0].Outcome = spoiled, "unknown"
		}, exit.Failed, exit.Failed},
		"the harness failed in another": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Scenarios[1].Error, f.Scenarios[1].Outcome = spoiled, "unknown"
		}, exit.Held, exit.Failed},
		"a signal ended its step": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Interrupted, f.Scenarios[0].Interrupted, f.Scenarios[0].Outcome = "SIGINT", "interrupted while the cluster was disturbed", ""
		}, exit.Interrupted, exit.Interrupted},
		"another was not begun": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Interrupted = "SIGINT"
			f.Scenarios = append(f.Scenarios, runfolder.ScenarioResult{Name: "mutants/c", Dir: "mutants/c", NotBegun: "SIGINT"})
		}, exit.Held, exit.Held},
		"another that was chosen has no result": {func(_ *testing.T, _ string, f *runfolder.File) {
			f.Chosen = []runfolder.Chosen{{Name: "chaos/a"}, {Name: "chaos/b"}, {Name: "mutants/c"}}
		}, exit.Held, exit.Held},
		"killed":                       {func(_ *testing.T, _ string, f *runfolder.File) { f.Ended = time.Time{} }, exit.Unknown, exit.Unknown},
		"killed before any was judged": {func(_ *testing.T, _ string, f *runfolder.File) { f.Ended, f.Scenarios = time.Time{}, nil }, exit.Unknown, exit.Unknown},
		"the record of another in its place": {func(t *testing.T, dir string, _ *runfolder.File) {
			move(t, filepath.Join(dir, "chaos", "b"), filepath.Join(dir, "chaos", "a"))
		}, exit.Failed, exit.Failed},
		"without run.json": {nil, exit.Unknown, exit.Unknown},
	} {
		dir, file := storeRun(t, still(t, "chaos/a"), still(t, "chaos/b"))
		if test.spoil == nil {
			if err := os.Remove(filepath.Join(dir, runfolder.FileName)); err != nil {
				t.Fatal(err)
			}
		} else {
			test.spoil(t, dir, &file)
			if err := file.Write(dir); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(filepath.Dir(dir), "latest")
		if err := os.Symlink(filepath.Base(dir), link); err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]int{filepath.Join(dir, "chaos", "a"): test.alone, filepath.Join(link, "chaos", "a"): test.alone, filepath.Join(dir, "chaos"): test.part} {
			if out, code, err := execute(t, "judge", path); code != want {
				t.Errorf("%s: judge %s: exit code %d, %v; want %d\n%s", name, path, code, err, want, out)
			}
		}
	}
	dir, _ := storeRun(t, still(t, "chaos/a"))
	overwrite(t, filepath.Join(dir, runfolder.FileName), "{")
	if out, code, err := execute(t, "judge", filepath.Join(dir, "chaos", "a")); code != exit.Failed {
		t.Errorf("a damaged run.json: exit code %d, %v\n%s", code, err, out)
	}
}
