package collect

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// rowsOf returns the rows of a segment.
func rowsOf(t *testing.T, one segment) []history.Request {
	t.Helper()
	var packed bytes.Buffer
	if err := one.writeTo(&packed); err != nil {
		t.Fatal(err)
	}
	rows, err := rowsIn(packed.Bytes(), one.Segment, nil)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Rows of unsent requests are generated when they are read, in segments of limited size, and use no memory.
func TestUnsentRowsAreSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s segmentStore
		base := time.Now()
		a, err := load.NewAttack(t.Context(), load.Plan{ID: "p", Duration: time.Second, Lanes: []load.Lane{
			{Lane: history.LaneFresh, Target: "http://target/", Rate: load.MaxRate},
		}}, load.Options{
			Worker: "w", Now: func() history.Offset { return time.Since(base) }, MaxRows: 1, Segments: &s, Server: loadtest.Late(0),
		})
		if err != nil {
			t.Fatal(err)
		}
		a.Run(0)
		status := a.Status()[0]
		if status.Unsent < 2*maxUnsentRows {
			t.Fatalf("%d unsent: the test tries too little", status.Unsent)
		}
		var rows []history.Request
		freed := 0
		for _, listed := range s.after(0) {
			one, _ := s.get(listed.N)
			if one.Rows > maxUnsentRows {
				t.Errorf("segment %d has %d rows", one.N, one.Rows)
			}
			rows = append(rows, rowsOf(t, one)...)
			freed += s.removeUpTo(one.N) + s.removeUpTo(one.N) // a repeated call frees nothing
		}
		if !s.empty() || uint64(freed) != status.Sent {
			t.Errorf("%d rows were freed, want the %d that were sent; left: %v", freed, status.Sent, s.after(0))
		}
		loadtest.CheckRows(t, rows, totals([]load.LaneStatus{status}))
	})
}

func totals(lanes []load.LaneStatus) (all []history.LoadTotals) {
	for _, l := range lanes {
		all = append(all, history.LoadTotals{Lane: l.Lane, Planned: l.Planned, Sent: l.Sent, Unsent: l.Unsent})
	}
	return all
}

func TestAfterIsBounded(t *testing.T) {
	var s segmentStore
	for range maxListed + 5 {
		s.add(segment{Segment: Segment{Rows: 1}})
	}
	if first, next := s.after(0), s.after(maxListed); len(first) != maxListed || len(next) != 5 || next[0].N != maxListed+1 {
		t.Errorf("listed %d and then %d segments", len(first), len(next))
	}
}
