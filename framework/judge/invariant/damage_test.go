package invariant_test

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

var everyByte = flag.Bool("every-byte", false, "damage golden runs at every byte, which takes minutes, and not at a sample")

// damagedRuns are golden runs to be damaged: without load and with it, held, violated, and mutants that were caught.
var damagedRuns = []string{"affinity-policy-ignore", "five-over-three-zones", "drops-at-sigterm", "drain-one-worker"}

func cloneFiles(files fstest.MapFS) fstest.MapFS {
	copied := fstest.MapFS{}
	for name, file := range files {
		copied[name] = &fstest.MapFile{Data: file.Data}
	}
	return copied
}

// unjudged fails unless files that are not as they were written give a clear error, or Unknown for every promise, and for
// the mutant.
func unjudged(t *testing.T, what string, files fstest.MapFS) {
	t.Helper()
	run, err := history.OpenFS(files, "dir")
	if err != nil {
		if !strings.Contains(err.Error(), "open record: ") || !strings.Contains(err.Error(), "dir") {
			t.Errorf("%s: the error does not say what cannot be read: %v", what, err)
		}
		return
	}
	for _, v := range judgeAsStored(run) {
		if v.Outcome != verdict.Unknown || v.Seen == "" {
			t.Errorf("%s: %s is %s: %s", what, v.Kind, v.Outcome, v.Seen)
		}
	}
}

// places are where to damage a file of this size.
func places(random *rand.Rand, size, sample int) (at []int) {
	if *everyByte || size <= sample {
		for i := range size {
			at = append(at, i)
		}
		return at
	}
	at = []int{0, 1, size - 2, size - 1} // the ends are where checks are forgotten
	for range sample {
		at = append(at, random.IntN(size))
	}
	return at
}

// TestDamagedRuns cuts off and flips files of real runs at bytes, cuts events off after lines, so that what is left looks like a record that went no
// further, and doubles, drops and swaps lines. No damage may give Held, and none may give Violated: a changed record accuses nobody. Nothing may panic.
func TestDamagedRuns(t *testing.T) {
	for _, name := range damagedRuns {
		t.Run(name, func(t *testing.T) {
			whole, run := unpackGolden(t, name)
			if o := judge.Overall(judge.Judge(run)); o == verdict.Unknown && run.Header.Mutant == nil {
				t.Fatal("it is unknown as it is, and shows nothing")
			}
			random := rand.New(rand.NewPCG(1, 0))
			for _, file := range slices.Sorted(maps.Keys(whole)) {
				stored := whole[file].Data
				damage := func(data []byte, how string, args ...any) {
					if !bytes.Equal(data, stored) { // two lines may be the same
						files := cloneFiles(whole)
						files[file] = &fstest.MapFile{Data: data}
						unjudged(t, file+" "+fmt.Sprintf(how, args...), files)
					}
				}
				for _, at := range places(random, len(stored), 15) {
					flipped := slices.Clone(stored)
					flipped[at] ^= 1 << random.IntN(8)
					damage(stored[:at], "cut off after %d bytes", at)
					damage(flipped, "with byte %d become %q", at, flipped[at])
				}
				lines := slices.Collect(bytes.Lines(stored))
				for _, at := range places(random, len(lines), 6) {
					other := (at + 1 + random.IntN(len(lines)-1)) % len(lines)
					swapped := slices.Clone(lines)
					swapped[at], swapped[other] = swapped[other], swapped[at]
					damage(bytes.Join(lines[:at], nil), "cut off after line %d", at)
					damage(bytes.Join(slices.Delete(slices.Clone(lines), at, at+1), nil), "without line %d", at+1)
					damage(bytes.Join(slices.Insert(slices.Clone(lines), other, lines[at]), nil), "with line %d twice, at %d", at+1, other+1)
					damage(bytes.Join(swapped, nil), "with lines %d and %d swapped", at+1, other+1)
				}
			}
		})
	}
}

// TestDamagedFiles takes whole files away, swaps them, and takes them from elsewhere.
func TestDamagedFiles(t *testing.T) {
	const segment = history.RequestsFolder + "/load-0-00000.csv"
	whole, _ := unpackGolden(t, "drain-one-worker")
	other, _ := unpackGolden(t, "drops-at-sigterm")
	if whole[segment] == nil || other[segment] == nil {
		t.Fatalf("the golden runs have no %s, but %v", segment, slices.Sorted(maps.Keys(whole)))
	}
	for what, spoil := range map[string]func(fstest.MapFS){
		"no requests":                func(f fstest.MapFS) { delete(f, segment) },
		"no events":                  func(f fstest.MapFS) { delete(f, history.EventsFile) },
		"the two swapped":            func(f fstest.MapFS) { f[segment], f[history.EventsFile] = f[history.EventsFile], f[segment] },
		"requests of another run":    func(f fstest.MapFS) { f[segment] = other[segment] },
		"events of another run":      func(f fstest.MapFS) { f[history.EventsFile] = other[history.EventsFile] },
		"requests under other names": func(f fstest.MapFS) { f[segment+"x"] = f[segment]; delete(f, segment) },
		"requests still open":        func(f fstest.MapFS) { f[segment+".open"] = f[segment]; delete(f, segment) },
		"more requests":              func(f fstest.MapFS) { f[history.RequestsFolder+"/worker-9-00000.csv"] = other[segment] },
		"requests doubled": func(f fstest.MapFS) {
			f[segment] = &fstest.MapFile{Data: slices.Concat(f[segment].Data, f[segment].Data)}
		},
		"events doubled": func(f fstest.MapFS) {
			f[history.EventsFile] = &fstest.MapFile{Data: slices.Concat(f[history.EventsFile].Data, f[history.EventsFile].Data)}
		},
		"a newer format": func(f fstest.MapFS) {
			f[history.EventsFile] = &fstest.MapFile{Data: bytes.Replace(f[history.EventsFile].Data, []byte(`"format":1`), []byte(`"format":2`), 1)}
		},
	} {
		files := cloneFiles(whole)
		spoil(files)
		unjudged(t, what, files)
	}
	files := cloneFiles(whole)
	files["notes.txt"] = &fstest.MapFile{Data: []byte("what else lies there does not matter")}
	run, err := history.OpenFS(files, "dir")
	if err != nil || judge.Overall(judge.Judge(run)) != verdict.Held {
		t.Errorf("the whole record does not hold: %v", err)
	}
}

// A violation in a record that is not whole is told, and is no verdict: who judges by it may be misled.
func TestWhatIsLeftOfADamagedRunIsTold(t *testing.T) {
	whole, _ := unpackGolden(t, "drops-at-sigterm")
	cut := whole[history.EventsFile].Data
	cut = cut[:bytes.LastIndexByte(cut[:len(cut)-1], '\n')+1] // the last line is missing
	files := cloneFiles(whole)
	files[history.EventsFile] = &fstest.MapFile{Data: cut}
	run, err := history.OpenFS(files, "dir")
	if err != nil {
		t.Fatal(err)
	}
	v := judge.Judge(run)[0]
	for _, want := range []string{"no verdict: the record is incomplete: ", "; what is left of it says: ", " requests failed ("} {
		if !strings.Contains(v.Seen, want) {
			t.Errorf("%q lacks %q", v.Seen, want)
		}
	}
	if v.Outcome != verdict.Unknown || v.Numbers["failed"] == 0 || len(v.Evidence) < 2 {
		t.Errorf("%+v", v)
	}
}

// FuzzDamagedRun replaces a piece of a file of a real run by other bytes.
func FuzzDamagedRun(f *testing.F) {
	runs := make([]fstest.MapFS, 0, len(damagedRuns))
	for _, name := range damagedRuns {
		whole, _ := unpackGolden(f, name)
		runs = append(runs, whole)
	}
	f.Add(uint8(0), uint8(0), uint(100), uint(1), []byte("x"))
	f.Add(uint8(1), uint8(0), uint(0), uint(1<<20), []byte{})
	f.Add(uint8(2), uint8(1), uint(70), uint(0), []byte("\n"))
	f.Add(uint8(2), uint8(0), uint(900), uint(200_000), []byte(`{"t":1,"end":{"lines":1,"checksum":"00000000"}}`+"\n"))
	f.Add(uint8(3), uint8(1), uint(0), uint(1<<20), []byte("worker,lane,seq,due_ns,sent_ns,done_ns,outcome\n"))
	f.Fuzz(func(t *testing.T, which, file uint8, at, length uint, with []byte) {
		whole := runs[int(which)%len(runs)]
		names := slices.Sorted(maps.Keys(whole))
		name := names[int(file)%len(names)]
		data := whole[name].Data
		from := min(at, uint(len(data)))
		to := from + min(length, uint(len(data))-from)
		damaged := slices.Concat(data[:from], with, data[to:])
		if bytes.Equal(damaged, data) {
			return
		}
		files := cloneFiles(whole)
		files[name] = &fstest.MapFile{Data: damaged}
		unjudged(t, fmt.Sprintf("run %d, %s: %d bytes at %d replaced by %q", which, name, to-from, from, with), files)
	})
}
