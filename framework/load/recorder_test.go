package load

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/deadline"
	"github.com/holdfast-ha/holdfast/framework/load/pace"
)

// clockwork returns a recorder whose clock advances by one with each reading.
func clockwork(t *testing.T, maxRows int) *recorder {
	var now history.Offset
	tick := func() history.Offset { now++; return now }
	return newRecorder(tick, maxRows, []Lane{{Lane: history.LaneFresh}, {Lane: history.LaneReused}}, newRowStore(t))
}

func TestRecorderCounts(t *testing.T) {
	r := clockwork(t, 100)
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
	r := clockwork(t, 100)
	r.add(&history.Request{Lane: history.LaneFresh, Sent: 24 * time.Hour, Outcome: history.OK})
	if got := r.status([]Lane{{Lane: history.LaneFresh}})[0].LagMax; got < maxLag || got > maxLag+time.Minute {
		t.Errorf("lag is %v, want %v", got, maxLag)
	}
}

// Without room, skipped requests need none; once rows are collected, there is room again.
func TestRecorderIsBounded(t *testing.T) {
	const most, skipped = 3, 50_000
	r := clockwork(t, most)
	store := r.segments.(*rowStore)
	l := &lane{Lane: Lane{Lane: history.LaneFresh, Rate: 1000}, worker: "w", pacer: pace.Rate(1000), record: r}
	for k := range uint64(most) {
		if r.full() {
			t.Fatalf("full with %d rows", k)
		}
		r.add(&history.Request{Worker: "w", Lane: history.LaneFresh, Seq: k, Outcome: history.OK})
	}
	if !r.full() {
		t.Fatal("there is room for a fourth row")
	}
	for k := uint64(most); k < most+skipped; k++ {
		r.skipped(l, k)
	}
	seal(t, r, false)
	if len(store.rows) != most || store.segments != 1 {
		t.Fatalf("%d rows in %d segments, want only those that were sent: there is still no room", len(store.rows), store.segments)
	}
	(&Attack{record: r}).Forget(most)
	if r.full() || r.held.Load() != 0 {
		t.Fatalf("no room, although all rows were collected: %d held", r.held.Load())
	}
	seal(t, r, false)
	for i, row := range store.rows[most:] {
		want := history.Request{
			Worker: "w", Lane: history.LaneFresh, Seq: uint64(most + i), Due: time.Duration(most+i) * time.Millisecond,
			Done: row.Done, Outcome: history.Unsent, Err: unsentFull,
		}
		if row != want {
			t.Fatalf("row %d is %+v, want %+v", i, row, want)
		}
	}
	if got := len(store.rows) - most; got != skipped || r.held.Load() != 0 || store.segments != 1 {
		t.Errorf("%d rows of unsent requests, want %d; %d are held", got, skipped, r.held.Load())
	}
}

func seal(t *testing.T, r *recorder, last bool) {
	t.Helper()
	if err := r.seal(last); err != nil {
		t.Fatal(err)
	}
}

// A skipped request that is not consecutive to the previous one begins new rows.
func TestUnsentRowsHaveNoGaps(t *testing.T) {
	r := clockwork(t, 1)
	fresh := &lane{Lane: Lane{Lane: history.LaneFresh}, pacer: pace.Rate(1), record: r}
	reused := &lane{Lane: Lane{Lane: history.LaneReused}, pacer: pace.Rate(1), record: r}
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

func TestDeadline(t *testing.T) {
	d := &deadline.Deadline{Parent: t.Context()}
	d.Renew()
	d.Set(time.Hour)
	if !d.Clear() {
		t.Error("a deadline of an hour passed at once")
	}
	d.Set(0)
	<-d.Ctx.Done()
	if d.Clear() {
		t.Error("clear returned true after the deadline had passed")
	}
	d.Renew()
	if d.Ctx.Err() != nil {
		t.Error("the renewed deadline has passed")
	}
}
