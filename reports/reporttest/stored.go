package reporttest

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

// Store writes a record into a folder.
func Store(t *testing.T, dir string, b *historytest.Builder) {
	t.Helper()
	if err := b.Write(dir); err != nil {
		t.Fatal(err)
	}
}

// VerdictJSON is a verdict as run.json has it.
func VerdictJSON(t *testing.T, v verdict.Verdict) json.RawMessage {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Light is Healthy with a twentieth of its requests, which is quick to write.
func Light() *historytest.Builder {
	return historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Seq%20 != 0 })
}

// StoredRun is a folder with one recorded scenario that held, and the run.json that lists it.
func StoredRun(t *testing.T) (dir string, file runfolder.File) {
	t.Helper()
	const id = "20260102-030405-test"
	dir = t.TempDir()
	Store(t, filepath.Join(dir, "chaos", "drain-one-worker"), Light().Header(func(h *history.Header) { h.RunID = id }))
	started := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return dir, runfolder.File{
		ID: id, Started: started, Ended: started.Add(time.Minute), Holdfast: "v0.1.0",
		Kubernetes: "v1.37.0", Profile: "lab", Seed: 7, Reproduce: "holdfast run --seed 7", Outcome: "held",
		Scenarios: []runfolder.ScenarioResult{{
			Name: "chaos/drain-one-worker", Dir: "chaos/drain-one-worker", Took: 45 * time.Second, Outcome: "held",
			Reproduce: "holdfast run --seed 7 chaos/drain-one-worker",
			Verdicts:  []json.RawMessage{VerdictJSON(t, Held("NoFailedRequests", "none fails", "0 of 12000 failed", nil))},
		}},
	}
}

// Build writes run.json, and builds the report of the run.
func Build(t *testing.T, dir string, file runfolder.File) reports.Report {
	t.Helper()
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	m, err := reports.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Written is what a format makes of a document.
func Written[T any](t *testing.T, write func(io.Writer, T) error, m T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Golden compares what was written with the file of that name in testdata.
func Golden(t *testing.T, name string, got []byte) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *Update {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), rewrite with -update:\n%s", name, diff)
	}
}

// Update is whether golden files are written instead of compared.
var Update = flag.Bool("update", false, "write the golden files instead of comparing with them")
