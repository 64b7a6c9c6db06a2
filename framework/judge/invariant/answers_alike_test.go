package invariant_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// sized is Healthy with a control lane, whose answers on the other lanes have so many bytes by the number of their hit.
func sized(of func(r *history.Request) int64) *ht.Builder {
	return watched().EditRequests(func(r *history.Request) {
		if r.Lane != history.LaneControl {
			r.Status, r.Bytes = 200, of(r)
		}
	})
}

// short is an answer on fresh that is sent at 17 s and has n bytes. All others have what another function says.
func short(n int64, others func(r *history.Request) int64) *ht.Builder {
	return sized(func(r *history.Request) int64 {
		if r.Lane == history.LaneFresh && r.Sent >= 17*second && r.Sent < 17005*ms {
			return n
		}
		return others(r)
	})
}

// What is unlike all answers before the first fault is shown of a user's application, and where the promise says so, breaks it. What proves nothing does
// neither.
func TestAnswersLikeBefore(t *testing.T) {
	same := func(*history.Request) int64 { return 4096 }
	two := func(r *history.Request) int64 { return 4096 + 8*int64(r.Seq%2) }
	many := func(r *history.Request) int64 { return 4096 + int64(r.Seq%5) }
	const (
		shorter = "1 answer on fresh had 512 bytes and status 200, where those of the "
		where   = "; the first was sent at 17s, and answered by "
		varied  = "had 5 or more lengths before the first fault began, so another length proves nothing: expect a text of a good answer"
	)
	busy := func(b *ht.Builder) *ht.Builder { return grouped(b, 15*second, 22*second, heldBack(1.0/3)) }
	for name, test := range map[string]struct {
		b       *ht.Builder
		outcome verdict.Outcome // where it is promised
		want    []string        // in the words of the verdict, or in what supports it
		shown   bool            // where it is not promised
	}{
		"the same":          {sized(same), verdict.Held, nil, false},
		"shorter":           {short(512, same), verdict.Violated, []string{shorter, "with it had 4096 bytes", where}, true},
		"shorter than both": {short(512, two), verdict.Violated, []string{shorter, "with it had 4096 to 4104 bytes", where}, true},
		"between both":      {short(4100, two), verdict.Held, nil, false},
		"where many came":   {short(512, many), verdict.Unknown, []string{"answers on fresh " + varied, "answers on reused " + varied}, false},
		"while it was busy": {busy(short(512, same)), verdict.Unknown, []string{shorter, "; it may come from a CPU quota"}, true},
		"before the fault": {sized(func(r *history.Request) int64 {
			if r.Sent < 12*second && r.Sent >= 11990*ms {
				return 512
			}
			return 4096
		}), verdict.Held, nil, false},
		"another status": {short(4096, same).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Sent >= 17*second && r.Sent < 17005*ms {
				r.Status = 204
			}
		}), verdict.Violated, []string{"1 answer on fresh had status 204, as none of the ", where}, true},
		"a failed one is judged elsewhere": {short(512, same).EditRequests(func(r *history.Request) {
			if r.Bytes == 512 {
				r.Outcome = history.BadStatus
			}
		}), verdict.Unknown, []string{"1 request failed on fresh"}, false},
		"few before": {short(512, same).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Done < ht.InjectingAt && r.Seq%100 > 0 {
				r.Outcome, r.Status, r.Bytes = history.Reset, 0, 0
			}
		}), verdict.Unknown, []string{"came on fresh before the first fault began"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			said := func(p invariant.Invariant) (verdict.Verdict, string) {
				v := judge.Check(test.b.Run(), p)
				return v, v.Seen + "\n" + strings.Join(v.Evidence, "\n")
			}
			v, text := said(invariant.AnswersWithin{Foreign: true, Like: true})
			if v.Outcome != test.outcome {
				t.Errorf("promised: %s: %s", v.Outcome, text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("promised: %s, want %q", text, want)
				}
			}
			if v, text := said(invariant.AnswersWithin{Foreign: true}); v.Outcome == verdict.Violated || strings.Contains(text, "on fresh had ") != test.shown {
				t.Errorf("not promised: %s: %s", v.Outcome, text)
			}
			if v, text := said(invariant.AnswersWithin{}); v.Outcome == verdict.Violated || strings.Contains(text, "on fresh had ") {
				t.Errorf("of the sample backend: %s: %s", v.Outcome, text)
			}
		})
	}
}
