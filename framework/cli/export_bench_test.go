package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// BenchmarkJudgeAndVegetaReport compares holdfast judge with the stock vegeta command's report on the same million requests,
// from the start of the process to its end. Metrics are medians of CPU time per request, in nanoseconds. It does not measure
// memory, because a child process inherits its parent's peak; invariant.BenchmarkJudgeStored and TestMemoryDoesNotGrow do.
func BenchmarkJudgeAndVegetaReport(b *testing.B) {
	const requests, rounds = 1_000_000, 3
	dir := b.TempDir()
	record, results := filepath.Join(dir, "record"), filepath.Join(dir, "results.gob")
	writeMany(b, record, requests)
	exportAll(b, record, results)
	holdfast := compiled(b, filepath.Join("..", ".."), filepath.Join(dir, "holdfast"))
	vegeta := compiled(b, vegetaFolder(b), filepath.Join(dir, "vegeta"))
	var ours, theirs, ratios []float64
	for b.Loop() {
		for range rounds { // alternating, so that other work on the machine affects both
			our, their := cost(b, holdfast, "judge", record), cost(b, vegeta, "report", results)
			ours, theirs, ratios = append(ours, our/requests), append(theirs, their/requests), append(ratios, our/their)
		}
	}
	for name, values := range map[string][]float64{"judge-ns/req": ours, "vegeta-ns/req": theirs, "ratio": ratios} {
		slices.Sort(values)
		b.ReportMetric(values[len(values)/2], name)
	}
	b.ReportMetric(0, "ns/op") // hides the time per operation, which means nothing
}

// writeMany records a healthy run with that many requests under load, in the usual time.
func writeMany(b *testing.B, dir string, requests int) {
	b.Helper()
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	must(b, err)
	must(b, ht.Many{Requests: requests, Promises: []history.Promise{promise}}.Write(dir))
	read, err := history.Open(dir)
	must(b, err)
	if o := judge.Overall(judge.Judge(read)); o != verdict.Held {
		b.Fatalf("the record is %s", o)
	}
}

func exportAll(b *testing.B, record, to string) {
	b.Helper()
	run, err := history.Open(record)
	must(b, err)
	file, err := os.Create(to)
	must(b, err)
	must(b, errors.Join(newVegetaExport(run, nil).write(file), file.Close()))
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// vegetaFolder returns the folder of the vegeta module.
func vegetaFolder(b *testing.B) string {
	b.Helper()
	dir, err := exec.CommandContext(b.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tsenart/vegeta/v12").Output()
	must(b, err)
	return string(bytes.TrimSpace(dir))
}

func compiled(b *testing.B, from, program string) string {
	b.Helper()
	if out, err := exec.CommandContext(b.Context(), "go", "-C", from, "build", "-o", program, ".").CombinedOutput(); err != nil {
		b.Fatalf("build %s: %v\n%s", program, err, out)
	}
	return program
}

// cost runs a command and returns its CPU time in nanoseconds.
func cost(b *testing.B, program string, args ...string) float64 {
	b.Helper()
	command := exec.CommandContext(b.Context(), program, args...)
	if out, err := command.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", command, err, out)
	}
	return float64((command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Nanoseconds())
}
