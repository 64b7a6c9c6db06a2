package collect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// Of several readings the quickest counts. What rows were mapped by may be wrong by all that the clock has moved since.
func TestClockIsCompared(t *testing.T) {
	const ms = time.Millisecond
	c, first := newClock("w", reading{offset: time.Second, uncertainty: 2 * ms}, 0)
	if want := (history.Clock{Worker: "w", Offset: time.Second, Uncertainty: 2 * ms}); first != want {
		t.Errorf("got %+v, want %+v", first, want)
	}
	if c.due(time.Hour) {
		t.Error("a comparison is due without a reading")
	}
	c.take(reading{at: clockEvery - 3*time.Second, offset: time.Second + 9*ms, uncertainty: 20 * ms})
	c.take(reading{at: clockEvery - 2*time.Second, offset: time.Second - 3*ms, uncertainty: ms})
	c.take(reading{at: clockEvery - time.Second, offset: time.Second + 5*ms, uncertainty: 3 * ms})
	if c.due(clockEvery-1) || !c.due(clockEvery) {
		t.Error("a comparison is due every minute")
	}
	want := history.Clock{Worker: "w", Offset: time.Second - 3*ms, Uncertainty: 4200 * time.Microsecond, Drift: -3 * ms}
	if got := c.compare(clockEvery); got != want || c.offset != want.Offset || c.due(clockEvery+time.Second) {
		t.Errorf("got %+v and rows are mapped by %s, want %+v", got, c.offset, want)
	}
	// What was read long ago is worth less than a slower reading of now.
	c.take(reading{at: clockEvery, offset: time.Second - 3*ms, uncertainty: ms})
	c.take(reading{at: clockEvery + 50*time.Second, offset: time.Second, uncertainty: 5 * ms})
	if got := c.compare(clockEvery + 50*time.Second); got.Drift != 3*ms {
		t.Errorf("got %+v", got)
	}
	// A machine was asleep for a minute. Rows keep their order, and the record says how wrong they may be.
	c.take(reading{offset: -time.Minute, uncertainty: ms})
	if got := c.compare(2 * clockEvery); got.Uncertainty < time.Minute || c.offset != time.Second {
		t.Errorf("got %+v and rows are mapped by %s", got, c.offset)
	}
}

// The way of the answer takes as long as the whole trip, or no time at all: the error is never larger than what is said.
func TestReadingsAreNeverOffByMore(t *testing.T) {
	const real = 5 * time.Second // offset
	for _, there := range []time.Duration{0, 3 * time.Millisecond, 7 * time.Millisecond} {
		asked, trip := time.Minute, 7*time.Millisecond
		r := readAt(asked, asked+trip, asked+there-real)
		if off := (r.offset - real).Abs(); off > r.uncertainty {
			t.Errorf("%s there, %s back: off by %s, and said to be off by at most %s", there, trip-there, off, r.uncertainty)
		}
	}
}

// A worker's clock that runs fast is compared every minute, and its rows are where they belong within what the record says.
func TestDriftIsMeasuredEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const fast = 1.0002 // far beyond an ordinary machine's 50 ppm
		w := fakeWorker(t, loadtest.Late(0))
		base := time.Now()
		w.clock = func() history.Offset { return history.Offset(float64(time.Since(base)) * fast) }
		n := &network{worker: w, d: loadtest.NewDice(1), delay: time.Millisecond, base: base}
		sink, reopen := newRecord(t)
		s, err := startOne(t.Context(), n, twoLanes(time.Hour), sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5*time.Minute + 10*time.Second)
		if err := s.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := read(t, reopen())
		if len(got.clocks) != 7 {
			t.Fatalf("clocks %+v, want one at the start, five, and one at the end", got.clocks)
		}
		for i, c := range got.clocks[1:6] {
			if drift := -c.Drift; drift < 11*time.Millisecond || drift > 14*time.Millisecond || c.Uncertainty < drift || c.Uncertainty > 20*time.Millisecond {
				t.Errorf("clock %d: %+v, want a drift of -12ms", i, c)
			}
		}
		last := got.clocks[6]
		if total := got.clocks[0].Offset - last.Offset; total < 60*time.Millisecond || total > 66*time.Millisecond {
			t.Errorf("it is said to have drifted %s in five minutes", total)
		}
		for _, r := range got.rows {
			if r.Lane == history.LaneFresh && r.Seq == 6000 { // after five minutes, with the offsets of one minute ago
				// The schedule is the worker's: its hit 6000 comes 60 ms early.
				at := got.shares[0].Lanes[0].Start + 300*time.Second - 60*time.Millisecond
				if off := (r.Due - at).Abs(); off > 15*time.Millisecond {
					t.Errorf("hit %d is recorded at %s, and was due at %s: off by %s", r.Seq, r.Due, at, off)
				}
			}
		}
		if diff := cmp.Diff([]history.LoadShare{{
			Worker: "w", Share: history.Share{Workers: 1}, Lanes: twoLanes(0).Starts(got.shares[0].Lanes[0].Start),
		}}, got.shares); diff != "" {
			t.Error(diff)
		}
	})
}
