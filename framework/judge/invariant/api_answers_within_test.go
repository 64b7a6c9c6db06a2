package invariant_test

import (
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// beheaded is the record of a control plane that was killed, as it was seen on a real cluster of three: those that are left
// elect a leader of etcd, and kind's load balancer takes five seconds to notice.
func beheaded(edits ...func(*history.Reach)) *ht.Builder {
	b := killed()
	for _, r := range []history.Reach{
		{Way: history.Balanced, Host: "lb", Asked: 153, Failed: 6, Longest: 1470 * ms, Failing: 5480 * ms, Before: 600 * ms, BeforeAsked: 40},
		{Way: history.Direct, Host: "cp2", Asked: 171, Longest: 1350 * ms, Before: 590 * ms, BeforeAsked: 40},
		{Way: history.Direct, Host: "cp3", Asked: 170, Longest: 1510 * ms, Before: 300 * ms, BeforeAsked: 40},
	} {
		for _, edit := range edits {
			edit(&r)
		}
		b.Event(history.Event{T: healAt + 3*second, Reach: &r})
	}
	return b
}

// of edits what was seen by one way.
func of(host string, edit func(*history.Reach)) func(*history.Reach) {
	return func(r *history.Reach) {
		if r.Host == host {
			edit(r)
		}
	}
}

func TestAPIAnswersWithin(t *testing.T) {
	limit := invariant.APIAnswersWithin{Limit: 10 * second}

	gone := of("cp3", func(r *history.Reach) { r.Longest, r.Failed = 21*second, 12 })
	control := func(longest time.Duration, returning bool) *ht.Builder {
		return beheaded(gone).Event(history.Event{T: healAt + 3*second, Reach: &history.Reach{Way: history.Control, Host: "load",
			Returning: returning, Asked: 150, Failed: 9, Longest: longest, BeforeAsked: 40}})
	}
	checkAll(t, []sample{
		{"held", beheaded(), limit, verdict.Held, 0},
		{"as long as the limit", beheaded(), invariant.APIAnswersWithin{Limit: 1510 * ms}, verdict.Held, 0},
		{"one is away", beheaded(gone), limit, verdict.Violated, 0},
		{"and it is away again on the way back", beheaded().Event(history.Event{T: healAt + 3*second, Reach: &history.Reach{
			Way: history.Direct, Host: "cp2", Returning: true, Asked: 100, Failed: 5, Longest: 11 * second}}), limit, verdict.Violated, 0},
		{"back, and nothing was noticed", beheaded().Event(history.Event{T: healAt + 3*second, Reach: &history.Reach{
			Way: history.Direct, Host: "cp2", Returning: true, Asked: 100, Longest: second}}), limit, verdict.Held, 0},
		{"only the balancer is away, which is kind's", beheaded(of("lb", func(r *history.Reach) { r.Longest, r.Failing, r.Failed = 30*second, 30*second, 153 })),
			limit, verdict.Held, 0},
		{"nobody was asked", killed(), limit, verdict.Unknown, 0},
		{"only the balancer was asked", beheaded().DropEvents(func(e history.Event) bool { return e.Reach != nil && e.Reach.Way == history.Direct }),
			limit, verdict.Unknown, 0},
		{"not asked before", beheaded(of("cp2", func(r *history.Reach) { r.BeforeAsked = 0 })), limit, verdict.Unknown, 0},
		{"not asked since", beheaded(of("cp2", func(r *history.Reach) { r.Asked = 0 })), limit, verdict.Unknown, 0},
		{"away before", beheaded(of("cp2", func(r *history.Reach) { r.BeforeFailed = 1 })), limit, verdict.Unknown, 0},
		{"slow before", beheaded(of("cp2", func(r *history.Reach) { r.Before = 11 * second })), limit, verdict.Unknown, 0},
		{"the node that asks stood still", beheaded(gone).Event(history.Event{T: 28 * second,
			Noise: &history.Noise{Of: ht.Worker, Since: 27 * second, Pause: 12 * second}}), limit, verdict.Unknown, 0},
		{"it stood still, but not for so long", beheaded(gone).Event(history.Event{T: 28 * second,
			Noise: &history.Noise{Of: ht.Worker, Since: 27 * second, Pause: 2 * second}}), limit, verdict.Violated, 0},
		{"the node that asks had no time to", control(19*second, false), limit, verdict.Unknown, 0},
		{"it had little time, but asked", control(9*second, false), limit, verdict.Violated, 0},
		{"it had no time to afterwards, which is another time", control(19*second, true), limit, verdict.Violated, 0},
		{"watches saw nothing meanwhile", beheaded().Gap("pods", 17*second, 20*second), limit, verdict.Held, 0},
	})
	v := judge.Check(beheaded().Run(), limit)
	lines(t, v)
	numbers(t, v, map[string]float64{"limitSeconds": 10, "apiAwaySeconds": 1.51, "apiRequests": 341, "apiFailed": 0,
		"balancerAwaySeconds": 1.47, "balancerFailingSeconds": 5.48, "balancerFailed": 6})
}
