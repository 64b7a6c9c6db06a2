package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// clockwork returns a recorder whose clock advances by one with each reading.
func clockwork(maxRows int) *recorder {
	var now history.Offset
	tick := func() history.Offset { now++; return now }
	return newRecorder(tick, maxRows, []Lane{{Lane: history.LaneFresh}, {Lane: history.LaneReused}})
}

func TestRecorderCounts(t *testing.T) {
	r := clockwork(100)
	for i, outcome := range []history.Outcome{history.OK, history.OK, history.Masked, history.Reset, history.Unsent} {
		row := &history.Request{Lane: history.LaneReused, Seq: uint64(i), Outcome: outcome}
		if outcome != history.Unsent {
			row.Sent = time.Duration(i) * time.Millisecond
		}
		r.lanes[history.LaneReused].planned.Add(1)
		r.add(row)
	}
	want := []LaneStatus{
		{Lane: history.LaneFresh},
		{
			Lane: history.LaneReused, Planned: 5, Sent: 4, Unsent: 1, Failed: 2, Masked: 1,
			LagP50: time.Millisecond, LagP99: 3 * time.Millisecond, LagMax: 3 * time.Millisecond,
		},
	}
	near := cmp.Comparer(func(a, b time.Duration) bool { return (a - b).Abs() < 5*time.Microsecond })
	if diff := cmp.Diff(want, r.status([]Lane{{Lane: history.LaneFresh}, {Lane: history.LaneReused}}), near); diff != "" {
		t.Error(diff)
	}
}

// The lag of a process that was frozen for a day must not break the counts.
func TestRecorderBoundsLag(t *testing.T) {
	r := clockwork(100)
	r.add(&history.Request{Lane: history.LaneFresh, Sent: 24 * time.Hour, Outcome: history.OK})
	if got := r.status([]Lane{{Lane: history.LaneFresh}})[0].LagMax; got < maxLag || got > maxLag+time.Minute {
		t.Errorf("lag is %v, want %v", got, maxLag)
	}
}

// Without room, skipped requests are kept as spans; once rows are collected, there is room again.
func TestRecorderIsBounded(t *testing.T) {
	r := clockwork(3)
	l := &lane{Lane: Lane{Lane: history.LaneFresh, Rate: 1000}, worker: "w", pacer: pace(1000), record: r}
	for k := range uint64(3) {
		if r.full() {
			t.Fatalf("full with %d rows", k)
		}
		r.add(&history.Request{Worker: "w", Lane: history.LaneFresh, Seq: k, Outcome: history.OK})
	}
	if !r.full() {
		t.Fatal("there is room for a fourth row")
	}
	for k := uint64(3); k < spanRows+10; k++ {
		r.skipped(l, k)
	}
	seal(t, r, false)
	if got := len(r.shelf.after(0)); got != 1 {
		t.Fatalf("%d segments, want only the one with the rows: the span still grows", got)
	}
	r.collected(1)
	r.collected(1) // as a repeated call does
	if r.full() || r.held.Load() != 0 {
		t.Fatalf("no room, although all rows were collected: %d held", r.held.Load())
	}
	seal(t, r, false)
	want := []Segment{{N: 2, Rows: spanRows}, {N: 3, Rows: 7}}
	if diff := cmp.Diff(want, r.shelf.after(1)); diff != "" {
		t.Errorf("segments (-want +got):\n%s", diff)
	}
	checkSpan(t, rowsOf(t, r))
	r.collected(2)
	r.collected(3)
	if !r.shelf.empty() || r.held.Load() != 0 {
		t.Errorf("%d rows held after all was collected", r.held.Load())
	}
}

func seal(t *testing.T, r *recorder, last bool) {
	t.Helper()
	if err := r.seal(last); err != nil {
		t.Fatal(err)
	}
}

func checkSpan(t *testing.T, rows []history.Request) {
	t.Helper()
	for i, row := range rows {
		want := history.Request{
			Worker: "w", Lane: history.LaneFresh, Seq: uint64(3 + i), Due: time.Duration(3+i) * time.Millisecond,
			Done: row.Done, Outcome: history.Unsent, Err: unsentFull,
		}
		if row != want {
			t.Fatalf("row %d is %+v, want %+v", i, row, want)
		}
	}
	if len(rows) != spanRows+7 {
		t.Errorf("%d rows, want %d", len(rows), spanRows+7)
	}
}

// A skipped request that is not consecutive to the previous one begins a new span.
func TestSpansHaveNoGaps(t *testing.T) {
	r := clockwork(1)
	fresh := &lane{Lane: Lane{Lane: history.LaneFresh}, pacer: pace(1), record: r}
	reused := &lane{Lane: Lane{Lane: history.LaneReused}, pacer: pace(1), record: r}
	for _, k := range []uint64{0, 1, 5, 6} {
		r.skipped(fresh, k)
		r.skipped(reused, k+1)
	}
	var got []string
	for _, row := range rowsOf(t, r) {
		got = append(got, fmt.Sprint(row.Lane, row.Seq))
	}
	want := []string{"fresh0", "fresh1", "reused1", "reused2", "fresh5", "fresh6", "reused6", "reused7"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAfterIsBounded(t *testing.T) {
	var s shelf
	for range maxListed + 5 {
		s.add(shelved{Segment: Segment{Rows: 1}})
	}
	if first, next := s.after(0), s.after(maxListed); len(first) != maxListed || len(next) != 5 || next[0].N != maxListed+1 {
		t.Errorf("listed %d and then %d segments", len(first), len(next))
	}
}

func TestAlarm(t *testing.T) {
	a := &alarm{parent: t.Context()}
	a.renew()
	a.set(time.Hour)
	if !a.off() {
		t.Error("an alarm of an hour went off at once")
	}
	a.set(0)
	<-a.ctx.Done()
	if a.off() {
		t.Error("off returned true after the alarm went off")
	}
	a.renew()
	if a.ctx.Err() != nil {
		t.Error("the renewed alarm has gone off")
	}
}
