package page

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/pagetest"
	"github.com/holdfast-ha/holdfast/reports/reporttest"
	"github.com/holdfast-ha/holdfast/reports/words"
)

var manyRequests = flag.Int("requests", 100_000, "requests of TestTheReportOfManyRequests")

// maxPage is how large a page with one scenario may be: a mail server takes it, and a browser opens it at once.
const maxPage = 5_000_000

// TestTheReportOfManyRequests: the page shows all requests of a long record, and stays small. `make bench` has it print what the report of ten
// million requests costs.
func TestTheReportOfManyRequests(t *testing.T) {
	const (
		scenario  = "chaos/drain-one-worker"
		failEvery = 1001 // odd, so that requests fail on both lanes
	)
	n, dir := *manyRequests, t.TempDir()
	folder := filepath.Join(dir, filepath.FromSlash(scenario))
	if err := (historytest.Many{Requests: n, RatePerSecond: 10_000, FailEvery: failEvery}).Write(folder); err != nil {
		t.Fatal(err)
	}
	file := runfolder.File{
		ID: "many", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Outcome: "held",
		Scenarios: []runfolder.ScenarioResult{{
			Name: scenario, Dir: scenario, Outcome: "held",
			Verdicts: []json.RawMessage{reporttest.VerdictJSON(t, reporttest.Held("NoFailedRequests", "none fails", "0 failed", nil))},
		}},
	}
	if err := file.Write(dir); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	m, err := reports.Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	built, memory := time.Since(begun), allocated()
	if sent := m.Scenarios[0].Sent(); sent != uint64(n) {
		t.Errorf("the report has %d requests, want %d", sent, n)
	}
	var page bytes.Buffer
	if err := Write(&page, m); err != nil {
		t.Fatal(err)
	}
	if page.Len() > maxPage {
		t.Errorf("the page has %d bytes, want at most %d", page.Len(), maxPage)
	}
	t.Logf("%d requests: %d bytes of record, read and built in %.1f s with %d MB of memory from the system, %d bytes of page",
		n, sizeOf(t, folder), built.Seconds(), memory>>20, page.Len())
	ctx := pagetest.Browser(t)
	begun = time.Now()
	_, _ = pagetest.Open(ctx, t, page.Bytes())
	if ready := pagetest.Evaluate[int](ctx, t, `document.querySelectorAll(".plot[data-ready=true]").length`); ready != 1 {
		t.Errorf("%d timelines answer to the pointer, want 1", ready)
	}
	t.Logf("the browser has opened and drawn it in %.2f s", time.Since(begun).Seconds())
	text := pagetest.Evaluate[string](ctx, t, `document.body.innerText`)
	failed := (n + failEvery - 1) / failEvery
	if want := fmt.Sprintf("%s of %s", words.Count(uint64(failed)), words.Count(uint64(n))); !strings.Contains(text, want) {
		t.Errorf("the page does not say that %s requests failed", want)
	}
}

// allocated is how much memory the process has asked the system for.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

// sizeOf is the size of all files in a folder.
func sizeOf(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}
