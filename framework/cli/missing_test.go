package cli

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
