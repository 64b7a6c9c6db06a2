package invariant_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// store writes a run to disk, each of its requests n times.
func store(t testing.TB, run history.Run, n int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "record")
	w, err := history.Create(dir, run.Header)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range run.Events {
		if e.Header != nil {
			continue
		}
		if err := w.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := w.Requests(ht.Worker)
	if err != nil {
		t.Fatal(err)
	}
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if err := rows.Append(slices.Repeat([]history.Request{*r}, n)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestStoredRun: a run that was read back has the verdicts that it had in memory.
func TestStoredRun(t *testing.T) {
	for name, b := range map[string]*ht.Builder{
		"healthy": ht.Healthy(), "killed": failVictims(killed(), history.LaneFresh, 16*second, 17*second),
	} {
		var promises []history.Promise
		for _, i := range everything() {
			p, err := invariant.Encode(i)
			if err != nil {
				t.Fatal(err)
			}
			promises = append(promises, p)
		}
		run := b.Header(func(h *history.Header) { h.Promises = promises }).Run()
		read, err := history.Open(store(t, run, 1))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(judge.Judge(run), judge.Judge(read)); diff != "" {
			t.Errorf("%s (-in memory +stored):\n%s", name, diff)
		}
	}
}

// TestCorruptedRequests: one bit, anywhere in the rows, and nothing is held any more.
func TestCorruptedRequests(t *testing.T) {
	dir := store(t, ht.Healthy().Run(), 1)
	files, err := filepath.Glob(filepath.Join(dir, history.RequestsFolder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/20 {
		whole[at] ^= 1
		if err := os.WriteFile(files[0], whole, 0o600); err != nil {
			t.Fatal(err)
		}
		whole[at] ^= 1
		run, err := history.Open(dir)
		if err != nil {
			continue // a clear error will do
		}
		for _, v := range judge.CheckAll(run, everything()) {
			if v.Outcome == verdict.Held {
				t.Errorf("byte %d: %s is held", at, v.Kind)
			}
		}
	}
}

// BenchmarkJudgeStored is what judging a stored run costs for each request, reading included. ns/op is nanoseconds a
// request; B/op must not grow with their number.
func BenchmarkJudgeStored(b *testing.B) {
	run := ht.Healthy().Run()
	const rows = 12_000
	dir := store(b, run, 100)
	read, err := history.Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for judged := 0; judged < b.N; judged += 100 * rows {
		judge.CheckAll(read, everything())
	}
}
