package historytest_test

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
)

func rows(t *testing.T, run history.Run) []history.Request {
	t.Helper()
	var all []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, *r)
	}
	return all
}

// TestWhatIsSharedDoesNotChange: runs and copies share a Builder's requests, and stay as they are when it is used further.
func TestWhatIsSharedDoesNotChange(t *testing.T) {
	spoil := func(r *history.Request) { r.Err = "spoiled" }
	all := func(history.Request) bool { return true }
	for name, use := range map[string]func(*historytest.Builder){
		"edited":          func(b *historytest.Builder) { b.EditRequests(spoil) },
		"edited in place": func(b *historytest.Builder) { spoil(&b.Requests()[0]) },
		"dropped":         func(b *historytest.Builder) { b.DropRequests(all) },
		"added":           func(b *historytest.Builder) { b.Request(history.Request{Lane: history.LaneFresh}) },
		"edited after one was added": func(b *historytest.Builder) {
			b.Request(history.Request{Lane: history.LaneFresh}).EditRequests(spoil)
		},
		"failed": func(b *historytest.Builder) {
			b.Fail(history.LaneFresh, 0, time.Hour, history.Refused).EditEvents(func(e *history.Event) { e.T++ })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := historytest.Healthy().DropRequests(func(r history.Request) bool { return r.Seq >= 20 })
			run, copied := b.Run(), b.Copy()
			before, events := rows(t, run), slices.Clone(run.Events)
			use(b)
			for what, now := range map[string]history.Run{"the run": run, "the copy": copied.Run()} {
				if diff := cmp.Diff(before, rows(t, now)); diff != "" {
					t.Errorf("%s has other requests (-before +after):\n%s", what, diff)
				}
				if diff := cmp.Diff(events, now.Events); diff != "" {
					t.Errorf("%s has other events (-before +after):\n%s", what, diff)
				}
			}
			before = rows(t, b.Run())
			use(copied)
			if diff := cmp.Diff(before, rows(t, b.Run())); diff != "" {
				t.Errorf("the Builder changed with its copy (-before +after):\n%s", diff)
			}
		})
	}
}

func TestHealthyHasItsLoad(t *testing.T) {
	run := historytest.Healthy().Run()
	counts := make(map[history.Lane]int)
	last := make(map[history.Lane]uint64)
	pods := make(map[string]int)
	for _, r := range rows(t, run) {
		if r.Outcome != history.OK || r.Pod == "" || r.Node == "" || r.Zone == "" {
			t.Fatalf("not a good request: %+v", r)
		}
		if n := counts[r.Lane]; n > 0 && r.Seq != last[r.Lane]+1 {
			t.Fatalf("lane %s: %d follows %d", r.Lane, r.Seq, last[r.Lane])
		}
		if r.Pod == historytest.Victim && r.Due >= historytest.EvictedAt {
			t.Fatalf("answered by a pod that was being deleted: %+v", r)
		}
		if r.Pod == historytest.Replacement && r.Due < historytest.ReplacedAt {
			t.Fatalf("answered by a pod before it was ready: %+v", r)
		}
		last[r.Lane] = r.Seq
		counts[r.Lane]++
		pods[r.Pod]++
	}
	want := map[history.Lane]int{history.LaneFresh: 6000, history.LaneReused: 6000}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("requests a lane (-want +got):\n%s", diff)
	}
	if len(pods) != historytest.Replicas+1 {
		t.Errorf("pods that answered: %v", pods)
	}
}

func TestAConnectionHasOneServer(t *testing.T) {
	servers := make(map[uint64]string)
	for _, r := range rows(t, historytest.Healthy().Run()) {
		if r.Lane != history.LaneReused {
			continue
		}
		if s, seen := servers[r.Conn]; seen != r.Reused || seen && s != r.Pod {
			t.Fatalf("connection %d to %q: %+v", r.Conn, s, r)
		}
		servers[r.Conn] = r.Pod
	}
}

func TestEventsAreOrderedAndTotalsAgree(t *testing.T) {
	run := historytest.Healthy().Run()
	if run.Events[0].Header == nil {
		t.Errorf("the first event is %+v, not the header", run.Events[0])
	}
	var before history.Offset
	totals := make(map[history.Lane]history.LoadTotals)
	for _, e := range run.Events {
		if e.T < before {
			t.Errorf("%v after %v", e.T, before)
		}
		before = e.T
		if e.Load != nil {
			totals[e.Load.Lane] = *e.Load
		}
	}
	want := map[history.Lane]history.LoadTotals{
		history.LaneFresh:  {Worker: historytest.Worker, Lane: history.LaneFresh, Planned: 6000, Sent: 6000},
		history.LaneReused: {Worker: historytest.Worker, Lane: history.LaneReused, Planned: 6000, Sent: 6000},
	}
	if diff := cmp.Diff(want, totals); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
}

func TestFail(t *testing.T) {
	run := historytest.Healthy().
		Fail(history.LaneFresh, 17*time.Second, 18*time.Second, history.Refused).
		Fail(history.LaneReused, 17*time.Second, 17100*time.Millisecond, history.Unsent).
		Run()
	failed, unsent := 0, 0
	for _, r := range rows(t, run) {
		switch r.Outcome {
		case history.Refused:
			failed++
			if !r.Inferred || r.Pod == "" || r.Status != 0 || r.Lane != history.LaneFresh {
				t.Fatalf("refused: %+v", r)
			}
		case history.Unsent:
			unsent++
			if r.Sent != 0 || r.Pod != "" || r.Lane != history.LaneReused {
				t.Fatalf("unsent: %+v", r)
			}
		}
	}
	if failed != 200 || unsent != 20 {
		t.Errorf("%d refused and %d unsent, want 200 and 20", failed, unsent)
	}
	last := run.Events[len(run.Events)-1].Load
	if want := (history.LoadTotals{
		Worker: historytest.Worker, Lane: history.LaneReused, Planned: 6000, Sent: 5980, Unsent: 20,
	}); last == nil || *last != want {
		t.Errorf("totals %+v, want %+v", last, want)
	}
}

func TestRequestDefaults(t *testing.T) {
	run := historytest.New().
		Request(history.Request{Due: time.Second}).
		Request(history.Request{Due: 2 * time.Second, Outcome: history.Reset}).
		Request(history.Request{Due: 3 * time.Second, Outcome: history.Unsent}).
		Run()
	const ms = time.Millisecond
	want := []history.Request{
		{Worker: "worker-0", Lane: "fresh", Due: 1000 * ms, Sent: 1000 * ms, Done: 1002 * ms, Outcome: "ok", Status: 200,
			Attempts: 1, Bytes: 5},
		{Worker: "worker-0", Lane: "fresh", Seq: 1, Due: 2000 * ms, Sent: 2000 * ms, Done: 2002 * ms, Outcome: "reset",
			Attempts: 1},
		{Worker: "worker-0", Lane: "fresh", Seq: 2, Due: 3000 * ms, Done: 3002 * ms, Outcome: "unsent"},
	}
	if diff := cmp.Diff(want, rows(t, run)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRunsDoNotShareWithTheBuilder(t *testing.T) {
	b := historytest.Healthy()
	first, again := b.Run(), b.Run()
	b.EditEvents(func(e *history.Event) {
		if e.Pod != nil {
			e.Pod.Name = "spoiled"
		}
	}).EditRequests(func(r *history.Request) { r.Pod = "spoiled" })
	b.Header(func(h *history.Header) { h.Claim = "spoiled" })
	if diff := cmp.Diff(again.Events, first.Events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range rows(t, first) {
		if r.Pod == "spoiled" {
			t.Fatal("a run that was handed out changed")
		}
	}
	for _, e := range first.Events {
		if e.Pod != nil && e.Pod.Name == "spoiled" || e.Header != nil && e.Header.Claim == "spoiled" {
			t.Fatalf("a run that was handed out changed: %+v", e)
		}
	}
}

// TestEveryPayloadIsCopied fails if copyPayloads misses a new kind of payload.
func TestEveryPayloadIsCopied(t *testing.T) {
	var e history.Event
	v := reflect.ValueOf(&e).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer {
			v.Field(i).Set(reflect.New(v.Field(i).Type().Elem()))
		}
	}
	got := historytest.New().Event(e).Run().Events[1]
	g := reflect.ValueOf(&got).Elem()
	for i := range v.NumField() {
		if v.Field(i).Kind() == reflect.Pointer && v.Field(i).Pointer() == g.Field(i).Pointer() {
			t.Errorf("%s is shared with the builder", v.Type().Field(i).Name)
		}
	}
}

func TestDropAndFailReading(t *testing.T) {
	broken := errors.New("segment w-1.csv: checksum differs")
	run := historytest.Healthy().
		DropRequests(func(r history.Request) bool { return r.Seq >= 1 }).
		DropEvents(func(e history.Event) bool { return e.Pod != nil }).
		Incomplete("events.jsonl: cut off").
		FailReading(broken).
		WithoutTotals().
		Run()
	n := 0
	var end error
	for r, err := range run.Requests() {
		if err != nil {
			end = err
			continue
		}
		n++
		_ = r
	}
	if n != 2 || !errors.Is(end, broken) || run.Incomplete != "events.jsonl: cut off" {
		t.Errorf("%d requests, error %v, incomplete %q", n, end, run.Incomplete)
	}
	for _, e := range run.Events {
		if e.Pod != nil || e.Load != nil || e.Clock != nil {
			t.Errorf("left in: %+v", e)
		}
	}
}
