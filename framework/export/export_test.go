package export_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/export"
	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
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
	archives, err := filepath.Glob("../judge/invariant/testdata/golden/*.tar.gz")
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
			counts, err := export.Vegeta(&out, run, lanes)
			if err != nil {
				t.Fatal(err)
			}
			m := metrics(t, out.Bytes())
			succeeded := uint64(math.Round(m.Success * float64(m.Requests)))
			if m.Requests != requests || m.Requests-succeeded != failed {
				t.Errorf("%s of %v: vegeta counts %d requests, %d of them failed; the verdict %d and %d",
					name, lanes, m.Requests, m.Requests-succeeded, requests, failed)
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

func TestWhatVegetaIsTold(t *testing.T) {
	var out bytes.Buffer
	counts, err := export.Vegeta(&out, mixed().Run(), []history.Lane{history.LaneFresh})
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
	if _, err := export.Vegeta(&out, b.Run(), []history.Lane{history.LaneFresh}); err != nil {
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
	if _, err := export.Vegeta(&out, ht.Healthy().Share(4).Run(), []history.Lane{history.LaneFresh}); err != nil {
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
	var out bytes.Buffer
	if _, err := export.Vegeta(&out, run, nil); err == nil || err.Error() != "export chaos/drain-one-worker: checksum differs" || out.Len() > 0 {
		t.Errorf("error %v, and %d bytes were written", err, out.Len())
	}
	full := ht.Healthy().Run()
	if _, err := export.Vegeta(noRoom{}, full, nil); err == nil || err.Error() != "export chaos/drain-one-worker: no room" {
		t.Errorf("error %v", err)
	}
}

type noRoom struct{}

func (noRoom) Write([]byte) (int, error) { return 0, errors.New("no room") }
