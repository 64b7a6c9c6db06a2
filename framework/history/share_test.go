package history

import (
	"testing"
	"time"
)

// Every number belongs to one worker, and Hit, Nth and Below agree.
func TestSharesDivideThePlan(t *testing.T) {
	for workers := range 6 {
		of := make(map[uint64]int)
		for i := range max(1, workers) {
			s := Share{Index: i, Workers: workers}
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			for n := uint64(0); s.Hit(n) < 60; n++ {
				of[s.Hit(n)]++
				if s.Nth(s.Hit(n)) != n || s.Below(s.Hit(n)) != n || s.Below(s.Hit(n)+1) != n+1 {
					t.Errorf("%s: its hit %d is number %d of the plan, Nth %d, Below %d", s, n, s.Hit(n), s.Nth(s.Hit(n)), s.Below(s.Hit(n)))
				}
			}
		}
		for k := range uint64(60) {
			if of[k] != 1 {
				t.Errorf("%d workers: hit %d is sent by %d of them", workers, k, of[k])
			}
		}
	}
}

func TestSharesThatNoPlanHas(t *testing.T) {
	for _, s := range []Share{{Index: -1}, {Index: 1}, {Index: 4, Workers: 4}, {Workers: -1}} {
		if s.Validate() == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	if got := (Share{Index: 2, Workers: 4}).Of(100); got != 25 {
		t.Errorf("a fourth of 100 is %v", got)
	}
}

func TestDueBefore(t *testing.T) {
	l := LaneStart{Start: time.Second, RatePerSecond: 10}
	for at, want := range map[Offset]uint64{
		0: 0, time.Second: 0, 1001 * time.Millisecond: 1, 1100 * time.Millisecond: 1, 1101 * time.Millisecond: 2, 2 * time.Second: 10,
		11 * time.Second: 100,
	} {
		if got := l.DueBefore(at); got != want {
			t.Errorf("before %v %d hits are due, want %d", at, got, want)
		}
	}
	if got := (LaneStart{}).DueBefore(time.Hour); got != 0 {
		t.Errorf("without a rate %d hits are due", got)
	}
}
