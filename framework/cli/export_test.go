package cli

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// loaded is a record with requests.
func loaded(name string) *historytest.Builder {
	return historytest.Healthy().Header(func(h *history.Header) { h.Scenario = name }).
		Fail(history.LaneFresh, historytest.SeenAt, historytest.SeenAt+10*historytest.Latency, history.Masked)
}

func TestExport(t *testing.T) {
	dir := t.TempDir()
	unloaded := still(t, "conformance/c").Header(func(h *history.Header) { h.Plan = nil })
	store(t, filepath.Join(dir, "two"), loaded("chaos/a"), loaded("chaos/b"), unloaded)
	store(t, filepath.Join(dir, "one"), loaded("chaos/a"), unloaded)
	store(t, filepath.Join(dir, "none"), unloaded)
	store(t, filepath.Join(dir, "killed"), loaded("chaos/a").Incomplete("killed"))
	overwrite(t, filepath.Join(dir, "newer", history.EventsFile), `{"t":0,"header":{"format":99}}`+"\n")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for args, test := range map[string]struct {
		code int
		says string // also on standard error
	}{
		"one":                {exit.Held, "chaos/a fresh: 6000 requests, 5996 ok, 4 failed (4 masked); besides 0 unsent, 0 not due under load\nchaos/a reused: 6000"},
		"one/chaos/a":        {exit.Held, "chaos/a fresh: 6000 requests"},
		"two/chaos/b":        {exit.Held, "chaos/b fresh: 6000 requests"},
		"two":                {exit.BadUsage, "has 2 scenarios with load: name one, such as DIR/two/chaos/a"},
		"none":               {exit.Failed, "export DIR/none: it has no requests: no load was planned"},
		"one --vegeta":       {exit.Held, "chaos/a fresh: 6000 requests"},
		"one --lane grpc":    {exit.Failed, `it has no requests of its lanes, or of those that --lane names: ["grpc"]`},
		"one --vegeta=false": {exit.BadUsage, "export writes for vegeta alone"},
		"one --format csv":   {exit.BadUsage, "unknown flag: --format"},
		"killed":             {exit.Held, "chaos/a: the record is incomplete: "},
		"newer":              {exit.Failed, "is of format 99, and this holdfast reads formats up to 2: use a newer one"},
		"empty":              {exit.Failed, "there is no record in it; give a run's folder, such as artifacts/latest"},
		"missing":            {exit.Failed, "DIR/missing"},
	} {
		typed := strings.Fields(args)
		typed[0] = filepath.Join(dir, typed[0])
		out, code, err := execute(t, append([]string{"export"}, typed...)...)
		if err != nil {
			out += err.Error()
		}
		if want := strings.ReplaceAll(test.says, "DIR", dir); code != test.code || !strings.Contains(out, want) {
			t.Errorf("export %s: exit code %d, %v; want %d and %q", args, code, err, test.code, want)
		}
	}
}

// An export file contains only the export. A file that could not be written completely is removed.
func TestExportToAFile(t *testing.T) {
	dir := t.TempDir()
	store(t, dir, loaded("chaos/a"))
	gob := filepath.Join(dir, "results.gob")
	if out, code, err := execute(t, "export", dir, "-o", gob, "--lane", "fresh"); code != exit.Held || strings.Contains(out, "reused") {
		t.Fatal(out, err)
	}
	data, err := os.ReadFile(gob)
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := vegetaMetrics(t, data); m.Requests != 6000 || m.Success != 5996.0/6000 {
		t.Errorf("vegeta reads %d requests, of which a share of %v succeeded", m.Requests, m.Success)
	}
	requests, err := filepath.Glob(filepath.Join(dir, "chaos", "a", history.RequestsFolder, "*"))
	if err != nil || len(requests) == 0 {
		t.Fatal(requests, err)
	}
	overwrite(t, requests[0], "cut")
	if _, code, err := execute(t, "export", dir, "-o", gob); code != exit.Failed || !strings.Contains(err.Error(), "has 3 bytes") {
		t.Errorf("exit code %d, %v", code, err)
	}
	if _, err := os.Stat(gob); !os.IsNotExist(err) {
		t.Errorf("half an export was left behind: %v", err)
	}
	if _, code, err := execute(t, "export", dir, "-o", filepath.Join(dir, "no", "folder")); code != exit.Failed || !strings.Contains(err.Error(), "export: open ") {
		t.Errorf("exit code %d, %v", code, err)
	}
}

// vegetaMetrics reads an export as vegeta's commands do, and checks what vegeta plot requires: the results of each attack are numbered from
// zero without gaps, and their times do not decrease in that order.
func vegetaMetrics(t *testing.T, data []byte) (m vegeta.Metrics, attacks map[string]uint64) {
	t.Helper()
	decode := vegeta.DecoderFor(bytes.NewReader(data))
	if decode == nil {
		t.Fatal("vegeta does not know this encoding")
	}
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
	attacks = make(map[string]uint64)
	for attack, all := range times {
		attacks[attack] = uint64(len(all))
		for n := range uint64(len(all)) {
			if at, ok := all[n]; !ok || n > 0 && at.Before(all[n-1]) {
				t.Fatalf("%s: result %d of %d is missing, or comes before the one that precedes it", attack, n, len(all))
			}
		}
	}
	return m, attacks
}

// mixed is a record with requests of all outcomes, each with a status that vegeta would count as a success if that is possible, before, under
// and after the load.
func mixed() *historytest.Builder {
	outcomes := []history.Outcome{
		history.OK, history.Unsent, history.Refused, history.Reset, history.ClosedEarly, history.TimeoutConnect, history.TimeoutResponse,
		history.Stall, history.Truncated, history.WrongBody, history.BadStatus, history.GoAway, history.Masked, history.Unreachable,
		history.Other, history.Late, history.Skipped, history.BadTLS, "an outcome of the future",
	}
	b := historytest.Healthy().Load(history.LaneControl, 10, historytest.SteadyAt, historytest.DrainedAt)
	b.EditRequests(func(r *history.Request) {
		if r.Outcome = outcomes[int(r.Seq)%len(outcomes)]; r.Outcome == history.BadStatus {
			r.Status = []int{302, 503, 999}[int(r.Seq)/len(outcomes)%3] // an unexpected redirect is a bad status
		}
	})
	for i, due := range []time.Duration{historytest.SteadyAt - time.Millisecond, historytest.DrainedAt, historytest.DrainedAt + time.Second} {
		b.Request(history.Request{Lane: history.LaneFresh, Seq: uint64(6000 + i), Due: due, Outcome: outcomes[i]})
	}
	return b
}

// vegeta's numbers of an export are exactly those of the verdict, also of runs with several workers, which number requests of their own or
// share a plan.
func TestVegetaAgrees(t *testing.T) {
	runs := map[string]history.Run{"mixed": mixed().Run(), "shared": historytest.Healthy().Share(4).Run()}
	several := historytest.Healthy()
	for seq := range uint64(100) {
		several.Request(history.Request{Worker: "worker-1", Seq: seq, Due: historytest.SteadyAt + time.Duration(seq)*time.Second/10})
	}
	runs["several"] = several.Run()
	archives, err := filepath.Glob("../judge/invariant/testdata/golden/*.tar.gz")
	if err != nil || len(archives) < 5 {
		t.Fatalf("%d golden runs, %v", len(archives), err)
	}
	for _, archive := range archives {
		files, err := historytest.Unpack(archive)
		if err != nil {
			t.Fatal(err)
		}
		run, err := history.OpenFS(files, filepath.Base(archive))
		if err != nil {
			t.Fatal(err)
		}
		if run.Header.Plan != nil {
			runs[archive] = run
		}
	}
	attacks := map[string]int{"mixed": 2, "shared": 8, "several": 3}
	for name, run := range runs {
		for _, lanes := range [][]history.Lane{nil, {history.LaneFresh}, {history.LaneReused, history.LaneControl}} {
			if len(lanes) > 0 && name != "mixed" {
				continue
			}
			v := judge.Check(run, invariant.NoFailedRequests{Lanes: lanes})
			requests, failed := uint64(v.Numbers["requests"]), uint64(v.Numbers["failed"])
			var names []string
			for _, lane := range lanes {
				names = append(names, string(lane))
			}
			var out bytes.Buffer
			e := newVegetaExport(run, names)
			if err := e.write(&out); err != nil {
				t.Fatal(err)
			}
			m, found := vegetaMetrics(t, out.Bytes())
			succeeded := uint64(math.Round(m.Success * float64(m.Requests)))
			if requests == 0 || m.Requests != requests || m.Requests-succeeded != failed {
				t.Errorf("%s of %v: vegeta counts %d requests, %d of them failed; the verdict %d and %d",
					name, lanes, m.Requests, m.Requests-succeeded, requests, failed)
			}
			for _, c := range e.counts {
				requests, failed = requests-c.requests, failed-c.failed
			}
			if requests != 0 || failed != 0 {
				t.Errorf("%s of %v: it counts %+v, which differs from the verdict", name, lanes, e.counts)
			}
			if n, known := attacks[name]; known && len(lanes) == 0 && len(found) != n {
				t.Errorf("%s: attacks %v, want %d", name, found, n)
			}
		}
	}
}

func TestVegetaResults(t *testing.T) {
	var out bytes.Buffer
	e := newVegetaExport(mixed().Run(), []string{"fresh"})
	if err := e.write(&out); err != nil {
		t.Fatal(err)
	}
	if want := (laneExport{lane: "fresh", requests: 5684, failed: 5368, masked: 316, unsent: 316, outside: 3}); len(e.counts) != 1 || e.counts[0] != want {
		t.Errorf("counts %+v, want %+v", e.counts, want)
	}
	m, _ := vegetaMetrics(t, out.Bytes())
	for _, want := range []string{"refused", "masked: status 200", "bad-status: status 302", "an outcome of the future: status 200"} {
		if !strings.Contains(strings.Join(m.Errors, "\n"), want) {
			t.Errorf("vegeta's errors %q lack %q", m.Errors, want)
		}
	}
	var first vegeta.Result
	if err := vegeta.DecoderFor(&out)(&first); err != nil {
		t.Fatal(err)
	}
	begin := mixed().Run().Header.Base.Add(historytest.SteadyAt)
	if !first.Timestamp.Equal(begin) || first.Latency != historytest.Latency || first.Attack != "fresh" ||
		first.URL != "http://backend.holdfast/" || first.Method != http.MethodGet || first.BytesIn != 5 || first.Seq != 0 {
		t.Errorf("%+v", first)
	}
}
