package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// filesIn are the files of a folder.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// While nobody collects, rows go to disk once memory has no room for them, and then nowhere: hits are unsent, and have their rows. When
// somebody collects again, every hit of the plan is in the record.
func TestNothingIsDroppedWhileNobodyCollects(t *testing.T) {
	const minute = 60 * 20 // rows of the fresh lane
	for name, test := range map[string]struct {
		maxRows int
		spill   func(dir string) Spill
		unsent  bool // are hits
		files   int  // at least, while nobody collects
	}{
		"memory is enough":      {0, func(string) Spill { return Spill{} }, false, 0},
		"no folder to spill to": {minute, func(string) Spill { return Spill{} }, true, 0},
		"the disk is enough":    {minute, func(dir string) Spill { return Spill{Dir: dir, AboveBytes: 4 << 10, MaxBytes: 1 << 30} }, false, 30},
		"the disk becomes full": {minute, func(dir string) Spill { return Spill{Dir: dir, AboveBytes: 4 << 10, MaxBytes: 20 << 10} }, true, 10},
		"the disk cannot be written": {minute, func(dir string) Spill {
			return Spill{Dir: filepath.Join(dir, "gone"), AboveBytes: 4 << 10, MaxBytes: 1 << 30}
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				w := fakeWorker(t, loadtest.Late(time.Millisecond))
				w.maxRows, w.spill = test.maxRows, test.spill(dir)
				n := &network{worker: w, d: loadtest.NewDice(1), base: time.Now(), gone: away(5*time.Second, 5*time.Minute)}
				sink, reopen := newRecord(t)
				s, err := startOne(t.Context(), n, twoLanes(time.Hour), sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(4 * time.Minute)
				if got := len(filesIn(t, dir)); got < test.files || test.files == 0 && got > 0 {
					t.Errorf("%d files, want %d", got, test.files)
				}
				status := w.status(w.current)
				if limit := test.maxRows; limit > 0 && status.Held > limit+10 {
					t.Errorf("%d rows are in memory, and %d are the most", status.Held, limit)
				}
				if test.files > 0 && status.Spilled < 500 {
					t.Errorf("%d rows are on disk", status.Spilled)
				}
				time.Sleep(2 * time.Minute)
				if err := s.Stop(t.Context()); err != nil {
					t.Error(err)
				}
				got := read(t, reopen())
				checkEachHit(t, got)
				unsent := uint64(0)
				for _, total := range got.totals {
					unsent += total.Unsent
				}
				if (unsent > 0) != test.unsent {
					t.Errorf("%d hits were not sent", unsent)
				}
				if left := filesIn(t, dir); len(left) > 0 {
					t.Errorf("files are left: %q", left)
				}
			})
		})
	}
}

// checkEachHit checks that the rows of all workers are each hit of the plan, once, and as many as the workers counted.
func checkEachHit(t *testing.T, got recorded) {
	t.Helper()
	planned, rows := map[history.Lane]uint64{}, map[history.Lane]map[uint64]bool{}
	for _, l := range got.totals {
		planned[l.Lane] += l.Planned
	}
	for _, r := range got.rows {
		if rows[r.Lane] == nil {
			rows[r.Lane] = map[uint64]bool{}
		}
		if rows[r.Lane][r.Seq] {
			t.Errorf("%s hit %d has two rows", r.Lane, r.Seq)
		}
		rows[r.Lane][r.Seq] = true
	}
	for lane, n := range planned {
		for k := range n {
			if !rows[lane][k] {
				t.Fatalf("%s hit %d of %d has no row", lane, k, n)
			}
		}
		if uint64(len(rows[lane])) != n {
			t.Errorf("%s: %d rows of %d hits", lane, len(rows[lane]), n)
		}
	}
}

// A spilled segment that was damaged is not taken for a whole one.
func TestADamagedSegmentOnDisk(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"cut off":  func(b []byte) []byte { return b[:len(b)/2] },
		"changed":  func(b []byte) []byte { b[len(b)/2] ^= 0xff; return b },
		"lengthed": func(b []byte) []byte { return append(b, b...) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				w := fakeWorker(t, loadtest.Late(0))
				w.spill = Spill{Dir: dir, MaxBytes: 1 << 30}
				n := &network{worker: w, d: loadtest.NewDice(1), base: time.Now(), gone: away(2*time.Second, 20*time.Second)}
				sink, reopen := newRecord(t)
				s, err := startOne(t.Context(), n, twoLanes(time.Minute), sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(15 * time.Second)
				file := filepath.Join(dir, filesIn(t, dir)[0])
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, damage(content), 0o600); err != nil {
					t.Fatal(err)
				}
				time.Sleep(15 * time.Second)
				ctx, cancel := contextFor(t, time.Minute)
				defer cancel()
				if err := s.Stop(ctx); err == nil {
					t.Error("stopped without an error")
				}
				w.current.attack.Stop(0)
				<-w.current.finished
				if got := read(t, reopen()); len(got.trouble) != 1 || len(got.totals) != 0 {
					t.Errorf("trouble %q, totals %v", got.trouble, got.totals)
				}
			})
		})
	}
}

func TestSpillThatCannotBe(t *testing.T) {
	for want, spill := range map[string]Spill{
		"it is no folder":  {Dir: filepath.Join(t.TempDir(), "missing"), MaxBytes: 1},
		"0 bytes at most":  {Dir: t.TempDir()},
		"above -1 in memo": {Dir: t.TempDir(), MaxBytes: 1, AboveBytes: -1},
	} {
		err := RunWorker(t.Context(), WorkerOptions{Name: "w", Spill: spill})
		if err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%+v: %v, want %q", spill, err, want)
		}
	}
}

var _ load.Segments = (*segmentStore)(nil)
