package history

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestOpenWhatIsNoRecord(t *testing.T) {
	empty := t.TempDir()
	file := filepath.Join(empty, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	tests := map[string]struct{ dir, want string }{
		"nothing there": {filepath.Join(empty, "x"), "no such file"},
		"a file":        {file, "is a file: give the scenario's folder"},
		"a folder":      {empty, "no events.jsonl in " + empty + ": give a scenario's folder"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(test.dir); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestOpenWithABadHeader(t *testing.T) {
	tests := map[string]struct{ events, want string }{
		"empty":        {"", "dir/events.jsonl is empty: nothing was recorded"},
		"cut off":      {`{"t":0,"header":{"form`, "dir/events.jsonl:1: cut off in the middle of the line"},
		"no JSON":      {"hello\n", "dir/events.jsonl:1: is not the header of a record"},
		"another line": {`{"t":0,"phase":{"name":"steady"}}` + "\n", "is not the header of a record"},
		"no format":    {`{"t":0,"header":{"runID":"r"}}` + "\n", "is not the header of a record"},
		"newer":        {`{"t":0,"header":{"format":3,"seed":"s"}}` + "\n", "is of format 3, and this holdfast reads formats up to 2: use a newer one"},
		"odd":          {`{"t":0,"header":{"format":1,"seed":"s"}}` + "\n", "dir/events.jsonl:1: is damaged"},
		"endless":      {`{"t":0,"header":{"claim":"` + strings.Repeat("x", maxLineBytes), "the line is longer than 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{EventsFile: {Data: []byte(test.events)}}
			if _, err := OpenFS(files, "dir"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
		})
	}
}

func TestDamageIsNamed(t *testing.T) {
	whole := inMemory(t, smallRecord(t))
	const first, last = "requests/worker-0-00000.csv", "requests/worker-1-00000.csv"
	tests := map[string]struct {
		spoil      func(fstest.MapFS)
		incomplete string // in Run.Incomplete
		reading    string // in the error of Requests; empty: none
		requests   int    // number before the error
	}{
		"nothing": {func(fstest.MapFS) {}, "", "", 12},
		"no last line": {func(f fstest.MapFS) { cutLine(f, -1) },
			"dir/events.jsonl has no end line after line 7: the harness was killed, or is still running", "", 12},
		"half a last line": {func(f fstest.MapFS) { f[EventsFile].Data = f[EventsFile].Data[:len(f[EventsFile].Data)-1] },
			"dir/events.jsonl:8: cut off in the middle of the line", "", 12},
		"a line less": {func(f fstest.MapFS) { cutLine(f, 2) },
			"dir/events.jsonl:7: counts 7 lines before it, but there are 6", "", 12},
		"a line changed": {func(f fstest.MapFS) { replace(f, EventsFile, "backend-1", "backend-2") },
			"dir/events.jsonl:8: has checksum", "", 12},
		"a line spoiled": {func(f fstest.MapFS) { replace(f, EventsFile, `"phase"`, `"phase`) },
			"dir/events.jsonl:2: is damaged: ", "", 12},
		"a line more": {func(f fstest.MapFS) { f[EventsFile].Data = append(f[EventsFile].Data, "{}\n"...) },
			"dir/events.jsonl:9: comes after the last line", "", 12},
		"two headers": {func(f fstest.MapFS) { f[EventsFile].Data = slices.Repeat(f[EventsFile].Data, 2) },
			"dir/events.jsonl:9: comes after the last line", "", 12},
		"an endless line": {func(f fstest.MapFS) { replace(f, EventsFile, "backend-1", strings.Repeat("x", maxLineBytes)) },
			"dir/events.jsonl:3: the line is longer than 1048576 bytes", "", 12},
		"a file missing": {func(f fstest.MapFS) { delete(f, last) },
			"dir/" + last + " is missing, with 5 requests", "read requests: dir/" + last + ": open", 7},
		"all files missing": {func(f fstest.MapFS) {
			maps.DeleteFunc(f, func(name string, _ *fstest.MapFile) bool { return name != EventsFile })
		}, "dir/" + first + " is missing", "read requests: dir/" + first + ": open", 0},
		"a file cut off": {func(f fstest.MapFS) { f[last].Data = f[last].Data[:len(f[last].Data)-1] },
			"dir/" + last + " has", "read requests: dir/" + last + ": has", 7},
		"a file changed": {func(f fstest.MapFS) { replace(f, last, ",200,", ",500,") },
			"", "read requests: dir/" + last + ": has checksum", 7},
		"a file more": {func(f fstest.MapFS) {
			f["requests/worker-2-00000.csv"] = &fstest.MapFile{Data: bytes.ReplaceAll(f[last].Data, []byte("r-1"), []byte("r-2"))}
		}, "dir/requests/worker-2-00000.csv is not listed as closed", "", 17},
		"a file of older rows": {func(f fstest.MapFS) { f["requests/worker-2-00000.csv"] = f[last] },
			"is not listed as closed", "row 2: done at 1.002s, after one that was done at 1.006s", 12},
		"another tool's file": {func(f fstest.MapFS) { f["requests/all.parquet"] = f[last] }, "", "", 12},
		"an odd file name": {func(f fstest.MapFS) { replace(f, EventsFile, "worker-1-00000", "../../x") },
			`invalid name "../../x.csv" of a requests file`, "read requests: ", 7},
		"a file listed twice": {func(f fstest.MapFS) { replace(f, EventsFile, "worker-1-00000", "worker-0-00001") },
			"dir/requests/worker-0-00001.csv is listed twice; dir/" + last + " is not listed as closed", "", 12},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			files := clone(whole)
			test.spoil(files)
			run, err := OpenFS(files, "dir")
			must(t, err)
			if !strings.Contains(run.Incomplete, test.incomplete) || (run.Incomplete == "") != (test.incomplete == "") {
				t.Errorf("incomplete %q, want %q in it", run.Incomplete, test.incomplete)
			}
			got, err := collect(run.Requests)
			if (err == nil) != (test.reading == "") || err != nil && !strings.Contains(err.Error(), test.reading) {
				t.Errorf("error %v, want %q in it", err, test.reading)
			}
			if len(got) != test.requests {
				t.Errorf("%d requests, want %d", len(got), test.requests)
			}
		})
	}
}

func clone(files fstest.MapFS) fstest.MapFS {
	copied := fstest.MapFS{}
	for name, file := range files {
		copied[name] = &fstest.MapFile{Data: slices.Clone(file.Data)}
	}
	return copied
}

func replace(files fstest.MapFS, name, old, with string) {
	files[name].Data = bytes.Replace(files[name].Data, []byte(old), []byte(with), 1)
}

// cutLine removes a line from the events, counted from 0, or from the end if negative.
func cutLine(files fstest.MapFS, n int) {
	lines := slices.Collect(bytes.Lines(files[EventsFile].Data))
	if n < 0 {
		n += len(lines)
	}
	files[EventsFile].Data = bytes.Join(slices.Delete(lines, n, n+1), nil)
}

// looksWhole reads a whole record, and returns true if no problem was found.
func looksWhole(files fstest.MapFS) error {
	run, err := OpenFS(files, "dir")
	if err != nil {
		return err
	}
	if run.Incomplete != "" {
		return errors.New(run.Incomplete)
	}
	_, err = collect(run.Requests)
	return err
}

// TestNoByteCanChangeUnnoticed changes every byte of every file, and truncates the file at every byte. FuzzOpen damages
// files in more ways.
func TestNoByteCanChangeUnnoticed(t *testing.T) {
	files := inMemory(t, smallRecord(t))
	must(t, looksWhole(files))
	for name, file := range files {
		data := slices.Clone(file.Data)
		for i := range data {
			// A flipped bit, a letter in the other case, a new line, another digit.
			ways := []byte{1, ' ', data[i] ^ '\n', data[i] ^ '0'}
			change := ways[i%len(ways)]
			if change == 0 {
				change = 1
			}
			file.Data[i] ^= change
			if looksWhole(files) == nil {
				t.Errorf("%s: byte %d became %q and nothing was noticed", name, i, file.Data[i])
			}
			file.Data = data[:i]
			if looksWhole(files) == nil {
				t.Errorf("%s: cut off after %d bytes and nothing was noticed", name, i)
			}
			file.Data = slices.Clone(data)
		}
	}
}

func FuzzOpen(f *testing.F) {
	whole := inMemory(f, golden)
	names := slices.Sorted(maps.Keys(whole))
	f.Add(uint8(0), uint(100), uint(1), []byte("x"))
	f.Add(uint8(1), uint(0), uint(1<<20), []byte{})
	f.Add(uint8(2), uint(70), uint(0), []byte("\n"))
	// Replaces a part of a file with other bytes: this truncates, inserts, changes and empties.
	f.Fuzz(func(t *testing.T, file uint8, at, length uint, with []byte) {
		files := clone(whole)
		name := names[int(file)%len(names)]
		data := files[name].Data
		from := min(at, uint(len(data)))
		to := from + min(length, uint(len(data))-from)
		files[name].Data = slices.Concat(data[:from], with, data[to:])
		changed := !bytes.Equal(files[name].Data, data)
		if err := looksWhole(files); (err != nil) != changed {
			t.Fatalf("%s: %d bytes at %d replaced by %q, changed %v: %v", name, to-from, from, with, changed, err)
		}
	})
}

func BenchmarkRequests(b *testing.B) {
	const n = 200_000
	dir := filepath.Join(b.TempDir(), "run")
	w, err := Create(dir, Header{Base: testBase})
	if err != nil {
		b.Fatal(err)
	}
	r, err := w.Requests("worker-0")
	if err = errors.Join(err, r.Append(typicalRequests(n)...), w.Close()); err != nil {
		b.Fatal(err)
	}
	run, err := Open(dir)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for _, err := range run.Requests() {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
	}
	if rows%n != 0 {
		b.Fatal(fmt.Sprint(rows, " rows"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
}
