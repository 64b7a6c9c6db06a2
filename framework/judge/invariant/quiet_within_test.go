package invariant_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// quietIn is Healthy, in which the victim, deleted at 17 s, went on getting its sixth of a lane's requests for a time.
func quietIn(lane history.Lane, last history.Offset) *ht.Builder {
	return ht.Healthy().EditRequests(func(r *history.Request) {
		if r.Lane == lane && r.Seq%6 == 0 && r.Due > ht.EvictedAt && r.Due <= ht.EvictedAt+last {
			r.Pod, r.Node = ht.Victim, ht.DrainedNode
		}
	})
}

func TestQuietWithin(t *testing.T) {
	three := invariant.QuietWithin{Limit: 3 * second}
	reused := invariant.QuietWithin{Limit: 3 * second, Lane: history.LaneReused}
	first := func(n int) *ht.Builder { return again(ht.Healthy(), n) }
	checkAll(t, []sample{
		{"quiet at once", ht.Healthy(), three, verdict.Held, 0,
			"the last new connection came 0s (p50), 0s (p90), 0s (p99), 0s (max) after the deletion of 1 pod; 0 later than 3s, " +
				"95 % upper bound 100 %"},
		{"quiet in time", quietIn(history.LaneFresh, 2*second), three, verdict.Held, 0,
			"the last new connection came 2s (p50), 2s (p90), 2s (p99), 2s (max) after the deletion of 1 pod; " +
				"0 later than 3s, 95 % upper bound 100 %"},
		{"in time or not, by less than the worker's clock is known", ht.Healthy().Request(history.Request{Due: 20 * second, Pod: ht.Victim, Node: "w1"}), three, verdict.Unknown, 0,
			"no verdict: the last new connection came 3s after a deletion, and the clocks of the load workers are known to 300µs only: whether that is more than 3s is unknown"},
		{"too late, by less than the worker's clock is known", ht.Healthy().Request(history.Request{Due: 20*second + 200*time.Microsecond, Pod: ht.Victim, Node: "w1"}), three, verdict.Unknown, 0,
			"no verdict: the last new connection came 3s after a deletion, and the clocks of the load workers are known to 300µs only: whether that is more than 3s is unknown"},
		{"just in time", ht.Healthy().Request(history.Request{Due: 19999 * ms, Pod: ht.Victim, Node: "w1"}), three, verdict.Held, 0,
			"the last new connection came 2.999s (p50), 2.999s (p90), 2.999s (p99), 2.999s (max) after the deletion of 1 pod; 0 later than 3s, " +
				"95 % upper bound 100 %"},
		{"in time, and the watches were late by less than was left", quietIn(history.LaneFresh, 2*second).
			Event(history.Event{T: 17900 * ms, Echo: &history.Echo{Sent: 17 * second}}), three, verdict.Held, 0,
			"the last new connection came 2s (p50), 2s (p90), 2s (p99), 2s (max) after the deletion of 1 pod; " +
				"0 later than 3s, 95 % upper bound 100 %"},
		{"in time, if the watches were not late", quietIn(history.LaneFresh, 2500*ms).
			Event(history.Event{T: 17900 * ms, Echo: &history.Echo{Sent: 17 * second}}), three, verdict.Unknown, 0,
			"no verdict: the last new connection came 2.48s after a deletion that the watches reported up to 900ms late; together that is more than 3s"},
		{"late", quietIn(history.LaneFresh, 4*second), three, verdict.Violated, 20020 * ms,
			"1 of 1 pod got a new connection more than 3s after their deletion (100 %, 95 % interval 2.5 % to 100 %), " +
				"the latest 3.98s: backend-1 on w1; 3.98s (p50), 3.98s (p90), 3.98s (p99), 3.98s (max)"},
		{"late on another lane", quietIn(history.LaneReused, 4*second), three, verdict.Held, 0,
			"the last new connection came 0s (p50), 0s (p90), 0s (p99), 0s (max) after the deletion of 1 pod; 0 later than 3s, " +
				"95 % upper bound 100 %"},
		{"late on the lane that is judged", quietIn(history.LaneReused, 4*second), reused, verdict.Violated, 20020 * ms,
			"1 of 1 pod got a request on reused more than 3s after their deletion (100 %, 95 % interval 2.5 % to 100 %), " +
				"the latest 3.98s: backend-1 on w1; 3.98s (p50), 3.98s (p90), 3.98s (p99), 3.98s (max)"},
		{"late, though nothing came before", quietIn(history.LaneFresh, 4*second).DropRequests(func(r history.Request) bool {
			return r.Pod == ht.Victim && r.Due < ht.EvictedAt
		}), three, verdict.Violated, 20020 * ms,
			"1 of 1 pod got a new connection more than 3s after their deletion (100 %, 95 % interval 2.5 % to 100 %), " +
				"the latest 3.98s: backend-1 on w1; 3.98s (p50), 3.98s (p90), 3.98s (p99), 3.98s (max)"},
		{"as many as are needed", first(3), invariant.QuietWithin{Limit: 3 * second, Terminations: 3}, verdict.Held, 0,
			"the last new connection came 0s (p50), 0s (p90), 0s (p99), 0s (max) after the deletion of 3 pods; 0 later than 3s, " +
				"95 % upper bound 100 %"},
		{"too few", first(3), invariant.QuietWithin{Limit: 3 * second, Terminations: 4}, verdict.Unknown, 0,
			"no verdict: 3 terminations of pods that fresh reached until then and for 3s could have gone on to, and 4 are needed"},
		{"no load", quietIn(history.LaneFresh, 4*second).DropRequests(func(history.Request) bool { return true }), three, verdict.Unknown, 0,
			"no verdict: no worker has totals for lane fresh, which was planned (and 3 more reasons)"},
	})
}

// again deletes more of Healthy's pods, until n were, half a second apart from 20 s on. Nobody sends them anything then.
func again(b *ht.Builder, n int) *ht.Builder {
	for i := 2; i <= n; i++ {
		at := 20*second + history.Offset(i)*500*ms
		old := ht.ReadyPod(fmt.Sprintf("backend-%d", i), fmt.Sprintf("w%d", i), history.Modified)
		old.Deleting = true
		b.Pod(at, old)
		gone := old
		gone.Change = history.Deleted
		b.Pod(at+second, gone)
		b.EditRequests(func(r *history.Request) {
			if r.Pod == old.Name && r.Due >= at {
				r.Pod, r.Node = "backend-6", "w6"
			}
		})
	}
	return b
}

// TestQuietWithinDoubts: of each, one thing is missing without which nobody can say that a pod was quiet.
func TestQuietWithinDoubts(t *testing.T) {
	p := invariant.QuietWithin{Limit: 3 * second}
	const none = "no verdict: 0 terminations of pods that fresh reached until then and for 3s could have gone on to, and 1 are needed"
	checkAll(t, []sample{
		{"nothing came before", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Pod == ht.Victim && r.Due > 15900*ms {
				r.Pod, r.Node = "backend-2", "w2"
			}
		}), p, verdict.Unknown, 0, none},
		{"the load ended before the limit", ht.Healthy(), invariant.QuietWithin{Limit: 24 * second}, verdict.Unknown, 0,
			"no verdict: 0 terminations of pods that fresh reached until then and for 24s could have gone on to, and 1 are needed"},
		{"nobody saw the deletion", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Pod != nil && e.Pod.Deleting && e.T < ht.GoneAt }).
			EditEvents(func(e *history.Event) {
				if e.Pod != nil && e.Pod.Change == history.Deleted {
					e.Pod.Deleting = false
				}
			}), p, verdict.Unknown, 0, none},
		{"two pods of one name", ht.Healthy().Pod(25*second, func() history.Pod {
			other := ht.ReadyPod(ht.Victim, "w1", history.Added)
			other.UID = "uid-other"
			return other
		}()), p, verdict.Unknown, 0, none},
		{"a failed request of an unknown server", ht.Healthy().Fail(history.LaneFresh, 25*second, 25005*ms, history.Refused), p,
			verdict.Unknown, 0, "no verdict: of 1 request on fresh it is unknown which pods were tried"},
		{"a request whose answer does not say who", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Seq == 0 {
				r.Pod = ""
			}
		}), p, verdict.Unknown, 0, "no verdict: of 1 request on fresh it is unknown which pods were tried"},
		{"a gateway that tried others before", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Seq == 0 {
				r.GatewayTries = 2
			}
		}), p, verdict.Unknown, 0, "no verdict: of 1 request on fresh it is unknown which pods were tried"},
		{"a second without load", ht.Healthy().Fail(history.LaneFresh, 20*second, 21*second, history.Unsent), p, verdict.Unknown, 0,
			"no verdict: only 0 of 200 requests due on fresh within 1s from 20s were sent (and 2 more reasons)"},
		{"a fault that did not bite", setStage(ht.Healthy(), history.Seen, -1), p, verdict.Unknown, 0,
			"no verdict: drain one worker was never seen in effect"},
		{"a watch that was blind", ht.Healthy().Gap("pods", 16*second, 17*second), p, verdict.Unknown, 0,
			"no verdict: the watch of pods had a gap from 16s to 17s: the watch broke off"},
		{"a record that was cut off", ht.Healthy().Incomplete("cut off"), p, verdict.Unknown, 0,
			"no verdict: the record is incomplete: cut off"},
	})
}

// TestQuietWithinEvidence: the distribution, the latest, and how well it could be measured.
func TestQuietWithinEvidence(t *testing.T) {
	b := again(quietIn(history.LaneFresh, 1200*ms), 4)
	b.Request(history.Request{Due: 21700 * ms, Pod: "backend-2", Node: "w2"}).
		Request(history.Request{Due: 23700 * ms, Pod: "backend-4", Node: "w4"})
	v := check(t, b.Run(), invariant.QuietWithin{Limit: second}, verdict.Violated, 18010*ms,
		"2 of 4 pods got a new connection more than 1s after their deletion (50 %, 95 % interval 6.76 % to 93.2 %), "+
			"the latest 1.7s: backend-4 on w4; 700ms (p50), 1.7s (p90), 1.7s (p99), 1.7s (max)")
	lines(t, v,
		"backend-4 on w4, deleted at 22s: 1 request after that, the last 1.7s later, 700ms beyond the limit",
		"backend-1 on w1, deleted at 17s: 40 requests after that, the last 1.19s later, 190ms beyond the limit",
		"backend-2 on w2, deleted at 21s: 1 request after that, the last 700ms later, 300ms before the limit",
		"backend-3 on w3, deleted at 21.5s: no request after that",
		"before its deletion a pod got a request every 29ms, which limits the precision",
		"deletions are dated by the watch, which is never early; requests by when they were sent, exact within 300µs")
	numbers(t, v, map[string]float64{
		"terminations": 4, "late": 2, "limitSeconds": 1, "lastSeconds.p50": 0.7, "lastSeconds.p90": 1.7, "lastSeconds.p99": 1.7,
		"lastSeconds.max": 1.7, "requests.fresh": 6002,
	})
}

// TestQuietWithinOfMany: with enough terminations the bound says something, and what does not count is told.
func TestQuietWithinOfMany(t *testing.T) {
	b := ht.Healthy()
	const many = 100
	for i := range many {
		name := fmt.Sprintf("many-%d", i)
		end := ht.ReadyPod(name, "w2", history.Modified)
		end.Deleting = true
		at := 20*second + history.Offset(i)*10*ms
		b.Pod(at, end)
		b.Request(history.Request{Due: at - 100*ms, Pod: name})
		if i > 0 { // after 10 ms, 20 ms, ...
			b.Request(history.Request{Due: at + history.Offset(i)*10*ms, Pod: name})
		}
	}
	silent := ht.ReadyPod("silent", "w2", history.Modified)
	silent.Deleting = true
	v := check(t, b.Pod(20*second, silent).Run(), invariant.QuietWithin{Limit: second, Terminations: many}, verdict.Held, 0,
		"the last new connection came 490ms (p50), 890ms (p90), 980ms (p99), 990ms (max) after the deletion of 101 pods; "+
			"0 later than 1s, 95 % upper bound 2.97 %")
	if want := "1 termination more: not reached in the second before, or deleted less than 1s before the load ended"; v.Evidence[7] != want {
		t.Errorf("%q, want %q", v.Evidence, want)
	}
	numbers(t, v, map[string]float64{"terminations": 101, "late": 0, "lateShareHigh95": 3.0 / 101, "lastSeconds.p90": 0.89})
}

// TestALateProxyOnABusyMachine: requests that come too late prove nothing if the machine was busy meanwhile.
func TestALateProxyOnABusyMachine(t *testing.T) {
	p := invariant.QuietWithin{Limit: 3 * second, Terminations: 1}
	late := func() *ht.Builder { return quietIn(history.LaneFresh, 4*second) }
	if v := judge.Check(late().Run(), p); v.Outcome != verdict.Violated {
		t.Fatalf("%s: %s", v.Outcome, v.Seen)
	}
	v := judge.Check(busy(late(), ht.Worker, 15*second, 24*second, 1).Run(), p)
	says(t, v, verdict.Unknown, "and 3s was the limit, but it may come from the busy machine: from 15s to 24s")
	if !(judge.Found{Verdicts: []verdict.Verdict{v}}).Busy() {
		t.Errorf("the scenario does not run again: %v", v.Numbers)
	}
}
