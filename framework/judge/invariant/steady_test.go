package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// lasted makes load last for so long on the fresh lane alone, of which a span was not sent.
func lasted(drained, from, to history.Offset) *ht.Builder {
	b := ht.Healthy().EditEvents(func(e *history.Event) {
		if e.Phase != nil && e.Phase.Name == history.Drained {
			e.T = drained
		}
	}).DropRequests(func(r history.Request) bool { return r.Lane != history.LaneFresh || r.Due >= drained })
	b.Header(func(h *history.Header) { h.Plan.Lanes = h.Plan.Lanes[:1] })
	if from < to {
		b.Fail(history.LaneFresh, from, to, history.Unsent)
	}
	return b
}

// undelivered are the reasons of a verdict that speak of load.
func undelivered(run *ht.Builder) (reasons []string) {
	for _, line := range judge.Check(run.Run(), (invariant.NoFailedRequests{})).Evidence {
		if strings.Contains(line, "were sent") || strings.Contains(line, "fewer due") {
			reasons = append(reasons, line)
		}
	}
	return reasons
}

// TestEveryWindowCounts: 200 requests a second from 10 s on. Where fewer than 95 of 100 were sent in a window, be it the first, the
// last or what is left behind the last, there is no verdict.
func TestEveryWindowCounts(t *testing.T) {
	const end = 39700 * ms // so that the last window lasts 1.7 s
	for name, s := range map[string]struct {
		run  *ht.Builder
		want string
	}{
		"all were sent":             {lasted(end, 0, 0), ""},
		"19 of 20 in the first":     {lasted(end, 10*second, 10050*ms), ""},
		"fewer in the first":        {lasted(end, 10*second, 10055*ms), "only 189 of 200 requests due on fresh within 1s from 10s were sent"},
		"fewer in the middle":       {lasted(end, 20900*ms, 20955*ms), "only 189 of 200 requests due on fresh within 1s from 20s were sent"},
		"half of two":               {lasted(end, 20950*ms, 21050*ms), ""},
		"19 of 20 in the last":      {lasted(end, 39615*ms, end), ""},
		"fewer in the last":         {lasted(end, 39610*ms, end), "only 322 of 340 requests due on fresh within 1.7s from 38s were sent"},
		"fewer at its beginning":    {lasted(end, 38*second, 38090*ms), "only 322 of 340 requests due on fresh within 1.7s from 38s were sent"},
		"a plan that nobody played": {lasted(end, 0, 0).Header(func(h *history.Header) { h.Plan.Lanes[0].RatePerSecond = 220 }), "fresh was planned at 220 requests a second"},
		"a little less was due, and of that a little less was sent": {
			lasted(end, 20*second, 20040*ms).Header(func(h *history.Header) { h.Plan.Lanes[0].RatePerSecond = 208 }),
			"only 192 requests were sent on fresh within 1s from 20s, but 208 were planned"},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(undelivered(s.run), "\n")
			if s.want == "" && got != "" || !strings.HasPrefix(got, s.want) {
				t.Errorf("got %q, want %q", got, s.want)
			}
		})
	}
}

// TestAShortPhaseCounts: what was not sent in it does not hide in the window around it.
func TestAShortPhaseCounts(t *testing.T) {
	short := func(from, to history.Offset) *ht.Builder {
		return lasted(40*second, from, to).EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Recovered { // 40 ms long
				e.T = 39960 * ms
			}
		})
	}
	if got := undelivered(short(39960*ms, 39965*ms)); len(got) != 0 { // one alone is no share
		t.Errorf("got %q", got)
	}
	got := undelivered(short(39960*ms, 39970*ms))
	if want := "only 6 of 8 requests due on fresh while recovered were sent"; len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWindowsAsCounted: of random losses, there is a reason where a window, counted again from the rows, lacks more than 5 %, or a
// phase does; and otherwise none.
func TestWindowsAsCounted(t *testing.T) {
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		end := 36*second + history.Offset(random.Int64N(int64(4*second)))
		from := 10*second + history.Offset(random.Int64N(int64(end-10*second)))
		b := lasted(end, from, min(end, from+history.Offset(random.Int64N(int64(150*ms)))))
		type share struct{ due, sent float64 }
		var windows [40]share
		var phases [3]share
		last := int((end-10*second)/second) - 1
		for r, err := range b.Run().Requests() {
			if err != nil {
				t.Fatal(err)
			}
			phase := 0
			if r.Due >= ht.DisturbedAt {
				phase = 1
			}
			if r.Due >= ht.RecoveredAt {
				phase = 2
			}
			for _, s := range []*share{&windows[min(int((r.Due-10*second)/second), last)], &phases[phase]} {
				s.due++
				if r.Outcome != history.Unsent {
					s.sent++
				}
			}
		}
		missing := false
		for _, s := range windows {
			missing = missing || s.sent < 0.95*s.due
		}
		for _, s := range phases {
			missing = missing || s.due > s.sent+1 && s.sent < 0.95*s.due
		}
		if got := undelivered(b); (len(got) > 0) != missing {
			t.Errorf("seed %d: %s", seed, fmt.Sprint(missing, got, from, end))
		}
	}
}
