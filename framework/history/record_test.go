package history

import (
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"
)

// testBase is a fixed base, so that records are reproducible.
var testBase = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func create(t *testing.T) (*Writer, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chaos", "drain")
	w, err := Create(dir, Header{RunID: "r1", Scenario: "chaos/drain", Base: testBase, Seed: 7})
	must(t, err)
	return w, dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func requestWriter(t *testing.T, w *Writer, worker string) *RequestWriter {
	t.Helper()
	r, err := w.Requests(worker)
	must(t, err)
	return r
}

// someRequests returns n requests of a worker, one per millisecond, starting at one second.
func someRequests(worker string, n int) []Request {
	all := typicalRequests(n)
	for i := range all {
		due := time.Second + time.Duration(i)*time.Millisecond
		all[i].Worker, all[i].Due, all[i].Sent, all[i].Done = worker, due, due+70*time.Microsecond, due+2*time.Millisecond
	}
	return all
}

// smallRecord is a complete record with a few events, and requests of two workers in three files.
func smallRecord(t *testing.T) string {
	t.Helper()
	w, dir := create(t)
	must(t, w.Append(Event{T: 1, Phase: &Phase{Name: Steady}}))
	must(t, w.Append(Event{T: 3, Pod: &Pod{Change: Listed, Name: "backend-1", UID: "u1", Ready: true}}))
	must(t, w.Append(Event{T: 2, Node: &Node{Change: Listed, Name: "w1", Ready: "True"}}))
	first, second := requestWriter(t, w, "worker-0"), requestWriter(t, w, "worker-1")
	must(t, first.Append(someRequests("worker-0", 4)...))
	late := someRequests("worker-0", 3)
	for i := range late {
		late[i].Done += time.Minute
	}
	must(t, first.Append(late...))
	must(t, first.Roll())
	must(t, second.Append(someRequests("worker-1", 5)...))
	must(t, w.Close())
	return dir
}

// inMemory is the content of a folder, so that tests can damage it quickly.
func inMemory(t testing.TB, dir string) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	if err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			return relErr
		}
		files[filepath.ToSlash(name)] = &fstest.MapFile{Data: data}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func collect(requests Requests) ([]Request, error) {
	var all []Request
	for r, err := range requests() {
		if err != nil {
			return all, err
		}
		all = append(all, *r)
	}
	return all, nil
}
