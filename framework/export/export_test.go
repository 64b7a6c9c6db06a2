package export_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/export"
	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// outcomes are all outcomes of a request. Each gets a status that vegeta would count as a success, if possible.
var outcomes = []history.Outcome{
	history.OK, history.Unsent, history.Refused, history.Reset, history.ClosedEarly, history.TimeoutConnect,
	history.TimeoutResponse, history.Stall, history.Truncated, history.WrongBody, history.BadStatus, history.GoAway,
	history.Masked, history.Unreachable, history.Other, history.Late, history.Skipped, history.BadTLS, "an outcome of the future",
}

// mixed returns a record with requests of all outcomes, before, under and after the load.
func mixed() *ht.Builder {
	b := ht.Healthy().Load(history.LaneControl, 10, ht.SteadyAt, ht.DrainedAt)
	b.EditRequests(func(r *history.Request) {
		if r.Outcome = outcomes[int(r.Seq)%len(outcomes)]; r.Outcome == history.BadStatus {
			r.Status = []int{302, 503, 999}[int(r.Seq)/len(outcomes)%3] // an unexpected redirect is a bad status
		}
	})
	for i, due := range []time.Duration{ht.SteadyAt - time.Millisecond, ht.DrainedAt, ht.DrainedAt + time.Second} {
		b.Request(history.Request{Lane: history.LaneFresh, Seq: uint64(6000 + i), Due: due, Outcome: outcomes[i]})
	}
	return b
}

// golden returns package invariant's golden runs that have load.
func golden(t *testing.T) map[string]history.Run {
	t.Helper()
	archives, err := filepath.Glob("../invariant/testdata/golden/*.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	runs := make(map[string]history.Run)
	for _, archive := range archives {
		files, err := ht.Unpack(archive)
		if err != nil {
			t.Fatal(err)
		}
		run, err := history.OpenFS(files, filepath.Base(archive))
		if err != nil {
			t.Fatal(err)
		}
		if run.Header.Plan != nil {
			runs[run.Header.Scenario] = run
		}
	}
	if len(runs) < 5 {
		t.Fatalf("%d golden runs have load", len(runs))
	}
	return runs
}

// verdictNumbers returns the numbers of a verdict on some lanes.
func verdictNumbers(run history.Run, lanes ...history.Lane) (requests, failed uint64) {
	v := judge.Check(run, invariant.NoFailedRequests{Lanes: lanes})
	return uint64(v.Numbers["requests"]), uint64(v.Numbers["failed"])
}

// metrics reads an export as vegeta's commands do, and checks what vegeta plot requires: the results of each attack are
// numbered from zero without gaps, and their times do not decrease in that order.
func metrics(t *testing.T, data []byte) vegeta.Metrics {
	t.Helper()
	decode := vegeta.DecoderFor(bytes.NewReader(data))
	if decode == nil {
		t.Fatal("vegeta does not know this encoding")
	}
	var m vegeta.Metrics
	times := make(map[string]map[uint64]time.Time)
	for {
		var r vegeta.Result
		if err := decode(&r); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		m.Add(&r)
		if (r.Error == "") != (r.Code >= 200 && r.Code < 400) {
			t.Fatalf("status %d with error %q", r.Code, r.Error)
		}
		if times[r.Attack] == nil {
			times[r.Attack] = make(map[uint64]time.Time)
		}
		if _, twice := times[r.Attack][r.Seq]; twice {
			t.Fatalf("%s has two results of number %d", r.Attack, r.Seq)
		}
		times[r.Attack][r.Seq] = r.Timestamp
	}
	m.Close()
	for attack, all := range times {
		for n := range uint64(len(all)) {
			if at, ok := all[n]; !ok || n > 0 && at.Before(all[n-1]) {
				t.Fatalf("%s: result %d of %d is missing, or comes before the one that precedes it", attack, n, len(all))
			}
		}
	}
	return m
}

// TestVegetaAgrees checks that vegeta's numbers for an export are exactly those of the verdict.
func TestVegetaAgrees(t *testing.T) {
	runs := golden(t)
	runs["mixed"] = mixed().Run()
	for name, run := range runs {
		for _, format := range []string{"vegeta", "vegeta-json", "vegeta-csv"} {
			choices := [][]history.Lane{nil}
			if name == "mixed" {
				choices = append(choices, []history.Lane{history.LaneFresh}, []history.Lane{history.LaneReused, history.LaneControl})
			}
			for _, lanes := range choices {
				requests, failed := verdictNumbers(run, lanes...)
				if requests == 0 {
					t.Fatalf("%s has no requests on %v", name, lanes)
				}
				var out bytes.Buffer
				counts, err := export.Vegeta(&out, run, format, lanes)
				if err != nil {
					t.Fatal(err)
				}
				m := metrics(t, out.Bytes())
				succeeded := uint64(math.Round(m.Success * float64(m.Requests)))
				if m.Requests != requests || m.Requests-succeeded != failed {
					t.Errorf("%s, %s of %v: vegeta counts %d requests, %d of them failed; the verdict %d and %d",
						name, format, lanes, m.Requests, m.Requests-succeeded, requests, failed)
				}
				var sum export.Counts
				for _, c := range counts {
					sum.Requests, sum.Failed, sum.OK = sum.Requests+c.Requests, sum.Failed+c.Failed, sum.OK+c.OK
				}
				if sum.Requests != requests || sum.Failed != failed || sum.OK != requests-failed {
					t.Errorf("%s of %v: it counts %+v; the verdict %d and %d", name, lanes, sum, requests, failed)
				}
			}
		}
	}
}

func TestWhatVegetaIsTold(t *testing.T) {
	var out bytes.Buffer
	counts, err := export.Vegeta(&out, mixed().Run(), "vegeta", []history.Lane{history.LaneFresh})
	if err != nil {
		t.Fatal(err)
	}
	want := []export.Counts{{
		Scenario: "chaos/drain-one-worker", Lane: history.LaneFresh, Requests: 5684, OK: 316, Failed: 5368, Masked: 316,
		Unsent: 316, Outside: 3,
	}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const line = "chaos/drain-one-worker fresh: 5684 requests, 316 ok, 5368 failed (316 masked); besides 316 unsent, 3 not due under load"
	if got := counts[0].String(); got != line {
		t.Errorf("%q, want %q", got, line)
	}
	m := metrics(t, out.Bytes())
	for _, want := range []string{"refused", "masked: status 200", "wrong-body: status 200", "bad-status: status 302", "an outcome of the future: status 200"} {
		if !strings.Contains(strings.Join(m.Errors, "\n"), want) {
			t.Errorf("vegeta's errors %q lack %q", m.Errors, want)
		}
	}
	if len(m.Errors) > 20 {
		t.Errorf("%d errors for vegeta to list", len(m.Errors))
	}
	var first vegeta.Result
	if err := vegeta.DecoderFor(bytes.NewReader(out.Bytes()))(&first); err != nil {
		t.Fatal(err)
	}
	begin := mixed().Run().Header.Base.Add(ht.SteadyAt)
	if !first.Timestamp.Equal(begin) || first.Latency != ht.Latency || first.Attack != "fresh" ||
		first.URL != "http://backend.holdfast/" || first.Method != http.MethodGet || first.BytesIn != 5 || first.Seq != 0 {
		t.Errorf("%+v", first)
	}
}

// Each of several workers numbers its own requests.
func TestVegetaWithSeveralWorkers(t *testing.T) {
	b := ht.Healthy()
	for seq := range uint64(100) {
		b.Request(history.Request{Worker: "worker-1", Seq: seq, Due: ht.SteadyAt + time.Duration(seq)*time.Second/10})
	}
	var out bytes.Buffer
	if _, err := export.Vegeta(&out, b.Run(), "vegeta", []history.Lane{history.LaneFresh}); err != nil {
		t.Fatal(err)
	}
	if m := metrics(t, out.Bytes()); m.Requests != 6099 && m.Requests != 6100 {
		t.Errorf("%d requests", m.Requests)
	}
	if !bytes.Contains(out.Bytes(), []byte("fresh of worker-1")) {
		t.Error("the attacks do not name their workers")
	}
}

// Workers that share a plan number its hits. To vegeta, each lane of each worker is an attack without gaps.
func TestVegetaWithASharedPlan(t *testing.T) {
	var out bytes.Buffer
	if _, err := export.Vegeta(&out, ht.Healthy().Share(4).Run(), "vegeta", []history.Lane{history.LaneFresh}); err != nil {
		t.Fatal(err)
	}
	next := map[string]uint64{}
	decode := vegeta.DecoderFor(bytes.NewReader(out.Bytes()))
	for n := 0; ; n++ {
		var r vegeta.Result
		if err := decode(&r); err != nil {
			if n != 6000 || len(next) != 4 {
				t.Errorf("%d results of %d attacks (%v)", n, len(next), err)
			}
			break
		}
		if r.Seq != next[r.Attack] {
			t.Fatalf("result %d of %s comes after %d", r.Seq, r.Attack, next[r.Attack])
		}
		next[r.Attack]++
	}
}

func TestExportOfWhatCannotBeRead(t *testing.T) {
	run := ht.Healthy().FailReading(errors.New("checksum differs")).Run()
	for format, write := range map[string]func(io.Writer) error{
		"vegeta": func(w io.Writer) error { _, err := export.Vegeta(w, run, "vegeta", nil); return err },
		"csv":    func(w io.Writer) error { _, err := export.CSV(w, []history.Run{run}, nil); return err },
	} {
		var out bytes.Buffer
		err := write(&out)
		if err == nil || err.Error() != "export chaos/drain-one-worker: checksum differs" {
			t.Errorf("%s: error %v", format, err)
		}
		if format == "vegeta" && out.Len() > 0 {
			t.Errorf("%s: %d bytes were written", format, out.Len())
		}
	}
	if _, err := export.Vegeta(io.Discard, run, "csv", nil); err == nil {
		t.Error("vegeta has no csv of this kind")
	}
	full := ht.Healthy().Run()
	if _, err := export.Vegeta(noRoom{}, full, "vegeta", nil); err == nil || err.Error() != "export chaos/drain-one-worker: no room" {
		t.Errorf("error %v", err)
	}
	if _, err := export.CSV(noRoom{}, []history.Run{full}, nil); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v", err)
	}
}

type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no room") }

// TestCSVAgrees checks that any tool counts the numbers of the verdict, with the query that --help shows.
func TestCSVAgrees(t *testing.T) {
	runs := golden(t)
	odd := mixed().Header(func(h *history.Header) { h.Scenario, h.RunID = `odd,"name`+"\nx", "r 1" }).Run()
	runs[`odd,"name x`] = odd
	var all []history.Run
	for _, run := range runs {
		all = append(all, run)
	}
	var out bytes.Buffer
	if _, err := export.CSV(&out, all, nil); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(out.Bytes())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]int)
	for i, name := range rows[0] {
		at[name] = i
	}
	type sum struct{ requests, failed uint64 }
	counted := make(map[string]sum)
	for _, row := range rows[1:] {
		if row[at["under_load"]] != "1" || row[at["outcome"]] == "unsent" {
			continue
		}
		s := counted[row[at["scenario"]]]
		if s.requests++; row[at["outcome"]] != "ok" {
			s.failed++
		}
		counted[row[at["scenario"]]] = s
		if row[at["lane"]] == "control" || row[at["run"]] == "" {
			t.Fatalf("row %q", row)
		}
	}
	for name, run := range runs {
		requests, failed := verdictNumbers(run)
		if counted[name] != (sum{requests, failed}) {
			t.Errorf("%s: %+v are counted; the verdict says %d and %d", name, counted[name], requests, failed)
		}
	}
	t.Run("sqlite3", func(t *testing.T) { sqlite(t, out.Bytes(), runs) })
}

// sqlite counts with sqlite3.
func sqlite(t *testing.T, table []byte, runs map[string]history.Run) {
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed; Go's CSV reader has counted the same rows already")
	}
	file := filepath.Join(t.TempDir(), "run.csv")
	if err := os.WriteFile(file, table, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), program, "-separator", "|", ":memory:", ".import --csv "+file+" requests",
		"SELECT scenario, count(*), sum(outcome <> 'ok') FROM requests WHERE under_load = '1' AND outcome <> 'unsent' GROUP BY scenario").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(runs) {
		t.Errorf("%d scenarios, want %d:\n%s", len(lines), len(runs), out)
	}
	for name, run := range runs {
		requests, failed := verdictNumbers(run)
		if want := fmt.Sprintf("%s|%d|%d", name, requests, failed); !strings.Contains(string(out), want) {
			t.Errorf("sqlite3 says\n%swant %s in it", out, want)
		}
	}
}

// TestCSVHasEveryRow checks every row, with all fields of a request.
func TestCSVHasEveryRow(t *testing.T) {
	run := mixed().Run()
	var out bytes.Buffer
	counts, err := export.CSV(&out, []history.Run{run}, []history.Lane{history.LaneFresh, history.LaneControl})
	if err != nil || len(counts) != 2 {
		t.Fatal(counts, err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	encoder := history.NewEncoder()
	if want := "run,scenario,proxy_mode,under_load," + strings.TrimSpace(string(encoder.AppendHeader(nil))); lines[0] != want {
		t.Errorf("%q, want %q", lines[0], want)
	}
	n := 1
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Lane == history.LaneReused {
			continue
		}
		underLoad := "1"
		if r.Due < ht.SteadyAt || r.Due >= ht.DrainedAt {
			underLoad = "0"
		}
		want := run.Header.RunID + "," + run.Header.Scenario + "," + run.Header.Cluster.ProxyMode + "," + underLoad + "," + strings.TrimSuffix(string(encoder.Append(nil, r)), "\n")
		if n >= len(lines) || lines[n] != want {
			t.Fatalf("line %d: want %q", n, want)
		}
		n++
	}
	if n != len(lines) {
		t.Errorf("%d lines, want %d", len(lines), n)
	}
}
