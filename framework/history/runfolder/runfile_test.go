package runfolder

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest/keeps"
)

// testBase is a fixed time, so that files are reproducible.
var testBase = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func someRunFile() File {
	return File{
		ID: "r1", Started: testBase, Ended: testBase.Add(time.Minute), Holdfast: "v1", Kubernetes: "v1.37.0",
		Profile: "lab", Seed: 1<<64 - 1, Args: []string{"run", `--focus="a <b>"`}, Reproduce: "holdfast run", Outcome: "held",
		Scenarios: []ScenarioResult{{
			Name: "chaos/drain", Dir: "chaos/drain", Claim: "c", Took: time.Second, Outcome: "held", Error: "e",
			Reproduce: "holdfast run chaos/drain", Mutant: &history.Mutant{Removed: "r", CaughtBy: "k", Twin: "t"},
			Verdicts: []json.RawMessage{json.RawMessage(`{"kind":"Spread","at":1}`)},
		}},
	}
}

func compact(t *testing.T, f *File) {
	t.Helper()
	for _, s := range f.Scenarios {
		for i, verdict := range s.Verdicts {
			var b bytes.Buffer
			must(t, json.Compact(&b, verdict))
			s.Verdicts[i] = b.Bytes()
		}
	}
}

func TestRunFileReadsAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts", "r1")
	running := File{ID: "r1", Started: testBase}
	want := someRunFile()
	for _, f := range []File{running, want} {
		must(t, f.Write(dir))
		got, err := ReadFile(dir)
		must(t, err)
		compact(t, &got)
		f.Format = Format
		if diff := cmp.Diff(f, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	info, err := entries[0].Info()
	must(t, err)
	if len(entries) != 1 || info.Mode().Perm() != 0o644 {
		t.Errorf("left behind: %v, mode %v", entries, info.Mode())
	}
}

func TestRunFileThatCannotBeRead(t *testing.T) {
	empty := t.TempDir()
	if _, err := ReadFile(empty); err == nil || !strings.Contains(err.Error(), "no run.json in "+empty+": give a run's folder") {
		t.Errorf("error %v", err)
	}
	tests := map[string]struct{ content, want string }{
		"empty":       {"", "is damaged: unexpected end"},
		"no JSON":     {"hello", "is damaged: invalid character"},
		"other JSON":  {"{}\n", "is not a run file of holdfast"},
		"newer":       {`{"format": 2, "id": {}}`, "is of format 2, and this holdfast reads formats up to 1: use a newer one"},
		"no checksum": {`{"format": 1, "id": "r1"}`, "is not a run file of holdfast"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, FileName)
			must(t, os.WriteFile(file, []byte(test.content), 0o600))
			if _, err := ReadFile(dir); err == nil || !strings.Contains(err.Error(), "read run: "+file+" "+test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestNoByteOfARunFileCanChangeUnnoticed(t *testing.T) {
	dir := t.TempDir()
	must(t, someRunFile().Write(dir))
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	must(t, err)
	_, err = decodeFile(data)
	must(t, err)
	for i := range data {
		for _, change := range []byte{1, ' ', 0x80} {
			data[i] ^= change
			if _, err := decodeFile(data); err == nil {
				t.Errorf("byte %d became %q and nothing was noticed", i, data[i])
			}
			data[i] ^= change
		}
		if _, err := decodeFile(data[:i]); err == nil {
			t.Errorf("cut off after %d bytes and nothing was noticed", i)
		}
	}
}

// FuzzRunFile replaces a part of a run file with other bytes; it also reads those bytes alone.
func FuzzRunFile(f *testing.F) {
	dir := f.TempDir()
	if err := someRunFile().Write(dir); err != nil {
		f.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, FileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint(13), uint(1), []byte("2"))
	f.Add(uint(100), uint(1<<20), []byte{})
	f.Add(uint(0), uint(0), []byte(`{"format": 1, "checksum": "00000000"`+runTail))
	f.Fuzz(func(t *testing.T, at, length uint, with []byte) {
		from := min(at, uint(len(data)))
		to := from + min(length, uint(len(data))-from)
		damaged := slices.Concat(data[:from], with, data[to:])
		if _, err := decodeFile(damaged); (err == nil) != bytes.Equal(damaged, data) {
			t.Errorf("%d bytes at %d replaced by %q: error %v", to-from, from, with, err)
		}
		if _, err := decodeFile(with); err == nil && !bytes.Equal(with, data) {
			t.Errorf("%q was read as a run file", with)
		}
	})
}

func TestPointLatest(t *testing.T) {
	artifacts := t.TempDir()
	for _, id := range []string{"r1", "r2", "r2"} {
		must(t, someRunFile().Write(filepath.Join(artifacts, id)))
		must(t, PointLatest(artifacts, id))
		if got, err := os.Readlink(filepath.Join(artifacts, LatestName)); got != id || err != nil {
			t.Errorf("latest points at %q, error %v, want %q", got, err, id)
		}
		if _, err := ReadFile(filepath.Join(artifacts, LatestName)); err != nil {
			t.Error(err)
		}
	}
	if entries, _ := os.ReadDir(artifacts); len(entries) != 3 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestPointLatestSparesWhatIsNotItsOwn(t *testing.T) {
	artifacts := t.TempDir()
	link := filepath.Join(artifacts, LatestName)
	must(t, os.WriteFile(link, []byte("mine"), 0o600))
	if err := PointLatest(artifacts, "r1"); err == nil || !strings.Contains(err.Error(), link+" is not a symbolic link: move it away") {
		t.Errorf("error %v", err)
	}
	if data, err := os.ReadFile(link); string(data) != "mine" {
		t.Errorf("%q, error %v", data, err)
	}
	if err := PointLatest(filepath.Join(artifacts, "missing"), "r1"); err == nil {
		t.Error("no error where there is no folder")
	}
}

func TestRecords(t *testing.T) {
	artifacts := t.TempDir()
	run := filepath.Join(artifacts, "r1")
	for _, scenario := range []string{"mutants/no-prestop", "chaos/drain", "set-aside-1/chaos/drain"} {
		w, err := history.Create(filepath.Join(run, scenario), history.Header{})
		must(t, err)
		must(t, w.Close())
	}
	must(t, os.MkdirAll(filepath.Join(run, "logs", history.EventsFile), 0o755)) // a folder is not a record
	must(t, PointLatest(artifacts, "r1"))
	for dir, want := range map[string][]string{
		run:                                  {"chaos/drain", "mutants/no-prestop"},
		artifacts:                            {"r1/chaos/drain", "r1/mutants/no-prestop"},
		filepath.Join(artifacts, LatestName): {"chaos/drain", "mutants/no-prestop"},
		filepath.Join(run, "chaos/drain"):    {"."},
		filepath.Join(run, "logs"):           nil,
	} {
		got, err := Records(dir)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %q, error %v, want %q", dir, got, err, want)
		}
	}
	if _, err := Records(filepath.Join(run, "missing")); err == nil {
		t.Error("no error for a folder that is not there")
	}
}

// goldenRun is a run that holdfast wrote when format 1 was new. It is never regenerated, because old runs must stay readable.
const goldenRun = "../testdata/format1"

func TestOldRunFileLosesNothing(t *testing.T) {
	run, err := ReadFile(goldenRun)
	must(t, err)
	data, err := os.ReadFile(filepath.Join(goldenRun, FileName))
	must(t, err)
	read, err := json.Marshal(sealedFile{File: run, Checksum: "20d5cf34"})
	must(t, err)
	keeps.All(t, data, read)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
