package history

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWorkerNames(t *testing.T) {
	w, _ := create(t)
	for _, bad := range []string{"", "a/b", "..", ".x", "a b", "é", strings.Repeat("x", 101)} {
		if _, err := w.Requests(bad); err == nil || !strings.Contains(err.Error(), "invalid load worker name") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if first, second := requestWriter(t, w, "load-0.x_1"), requestWriter(t, w, "load-0.x_1"); first != second {
		t.Error("a worker has two writers")
	}
}

func TestRequestsAreOrderedByDone(t *testing.T) {
	const seed = 3
	rng := rand.New(rand.NewPCG(seed, 0))
	want := someRequests("worker-0", 10_000) // 10 s
	disordered := slices.Clone(want)
	delay := make(map[Offset]Offset) // of handing over, by Done
	for _, r := range want {
		delay[r.Done] = Offset(rng.Int64N(int64(Reorder)))
	}
	slices.SortFunc(disordered, func(a, b Request) int { return cmp.Compare(a.Done+delay[a.Done], b.Done+delay[b.Done]) })
	w, dir := create(t)
	requests := requestWriter(t, w, "worker-0")
	for batch := range slices.Chunk(disordered, 700) {
		for i := range batch {
			batch[i].Worker = "" // Worker may be empty
		}
		must(t, requests.Append(batch...))
		must(t, requests.Roll())
	}
	must(t, requests.Append())
	must(t, w.Close())
	run, err := Open(dir)
	must(t, err)
	got, err := collect(run.Requests)
	must(t, err)
	if run.Incomplete != "" {
		t.Errorf("incomplete: %s", run.Incomplete)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d requests are not the %d that were appended, in order", len(got), len(want))
	}
}

func TestRequestsThatDoNotBelong(t *testing.T) {
	tests := map[string]struct {
		request Request
		want    string
	}{
		"another's": {Request{Worker: "worker-1", Done: time.Hour}, `a request of worker "worker-1" was passed to the writer of "worker-0"`},
		"too late":  {Request{Done: 30 * time.Second}, "worker-0, done at 30s, came 28s too late"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, dir := create(t)
			requests := requestWriter(t, w, "worker-0")
			must(t, requests.Append(Request{Done: 58 * time.Second}, Request{Done: time.Minute}))
			if err := requests.Append(test.request); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if err := w.Close(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("close: %v, want %q in it", err, test.want)
			}
			if run, err := Open(dir); err != nil || run.Incomplete == "" {
				t.Errorf("incomplete %q, error %v", run.Incomplete, err)
			}
		})
	}
}

func TestFilesStaySmall(t *testing.T) {
	w, dir := create(t)
	requests := requestWriter(t, w, "worker-0")
	want := someRequests("worker-0", 3*MaxSegmentBytes/(2*150))
	must(t, requests.Append(want...))
	must(t, w.Close())
	files, err := filepath.Glob(filepath.Join(dir, RequestsFolder, "*"))
	must(t, err)
	if len(files) != 2 || filepath.Base(files[1]) != "worker-0-00001.csv" {
		t.Errorf("files: %v", files)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		must(t, err)
		if info.Size() > MaxSegmentBytes+1000 {
			t.Errorf("%s has %d bytes", file, info.Size())
		}
	}
	run, err := Open(dir)
	must(t, err)
	if got, err := collect(run.Requests); err != nil || len(got) != len(want) || run.Incomplete != "" {
		t.Errorf("%d of %d requests, error %v, incomplete %q", len(got), len(want), err, run.Incomplete)
	}
}
