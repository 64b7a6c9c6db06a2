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
		{"quiet at once", ht.Healthy(), three, verdict.Held, 0},
		{"quiet in time", quietIn(history.LaneFresh, 2*second), three, verdict.Held, 0},
		{"in time or not, by less than the worker's clock is known", ht.Healthy().Request(history.Request{Due: 20 * second, Pod: ht.Victim, Node: "w1"}), three, verdict.Unknown, 0},
		{"too late, by less than the worker's clock is known", ht.Healthy().Request(history.Request{Due: 20*second + 200*time.Microsecond, Pod: ht.Victim, Node: "w1"}), three, verdict.Unknown, 0},
		{"just in time", ht.Healthy().Request(history.Request{Due: 19999 * ms, Pod: ht.Victim, Node: "w1"}), three, verdict.Held, 0},
		{"in time, and the watches were late by less than was left", quietIn(history.LaneFresh, 2*second).
			Event(history.Event{T: 17900 * ms, Echo: &history.Echo{Sent: 17 * second}}), three, verdict.Held, 0},
		{"in time, if the watches were not late", quietIn(history.LaneFresh, 2500*ms).
			Event(history.Event{T: 17900 * ms, Echo: &history.Echo{Sent: 17 * second}}), three, verdict.Unknown, 0},
		{"late", quietIn(history.LaneFresh, 4*second), three, verdict.Violated, 20020 * ms},
		{"late on another lane", quietIn(history.LaneReused, 4*second), three, verdict.Held, 0},
		{"late on the lane that is judged", quietIn(history.LaneReused, 4*second), reused, verdict.Violated, 20020 * ms},
		{"late, though nothing came before", quietIn(history.LaneFresh, 4*second).DropRequests(func(r history.Request) bool {
			return r.Pod == ht.Victim && r.Due < ht.EvictedAt
		}), three, verdict.Violated, 20020 * ms},
		{"as many as are needed", first(3), invariant.QuietWithin{Limit: 3 * second, Terminations: 3}, verdict.Held, 0},
		{"too few", first(3), invariant.QuietWithin{Limit: 3 * second, Terminations: 4}, verdict.Unknown, 0},
		{"no load", quietIn(history.LaneFresh, 4*second).DropRequests(func(history.Request) bool { return true }), three, verdict.Unknown, 0},
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

	checkAll(t, []sample{
		{"nothing came before", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Pod == ht.Victim && r.Due > 15900*ms {
				r.Pod, r.Node = "backend-2", "w2"
			}
		}), p, verdict.Unknown, 0},
		{"the load ended before the limit", ht.Healthy(), invariant.QuietWithin{Limit: 24 * second}, verdict.Unknown, 0},
		{"nobody saw the deletion", ht.Healthy().DropEvents(func(e history.Event) bool { return e.Pod != nil && e.Pod.Deleting && e.T < ht.GoneAt }).
			EditEvents(func(e *history.Event) {
				if e.Pod != nil && e.Pod.Change == history.Deleted {
					e.Pod.Deleting = false
				}
			}), p, verdict.Unknown, 0},
		{"two pods of one name", ht.Healthy().Pod(25*second, func() history.Pod {
			other := ht.ReadyPod(ht.Victim, "w1", history.Added)
			other.UID = "uid-other"
			return other
		}()), p, verdict.Unknown, 0},
		{"a failed request of an unknown server", ht.Healthy().Fail(history.LaneFresh, 25*second, 25005*ms, history.Refused), p, verdict.Unknown, 0},
		{"a request whose answer does not say who", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Seq == 0 {
				r.Pod = ""
			}
		}), p, verdict.Unknown, 0},
		{"a gateway that tried others before", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Seq == 0 {
				r.GatewayTries = 2
			}
		}), p, verdict.Unknown, 0},
		{"a second without load", ht.Healthy().Fail(history.LaneFresh, 20*second, 21*second, history.Unsent), p, verdict.Unknown, 0},
		{"a fault that did not bite", setStage(ht.Healthy(), history.Seen, -1), p, verdict.Unknown, 0},
		{"a watch that was blind", ht.Healthy().Gap("pods", 16*second, 17*second), p, verdict.Unknown, 0},
		{"a record that was cut off", ht.Healthy().Incomplete("cut off"), p, verdict.Unknown, 0},
	})
}

// TestQuietWithinEvidence: the distribution, the latest, and how well it could be measured.
func TestQuietWithinEvidence(t *testing.T) {
	b := again(quietIn(history.LaneFresh, 1200*ms), 4)
	b.Request(history.Request{Due: 21700 * ms, Pod: "backend-2", Node: "w2"}).
		Request(history.Request{Due: 23700 * ms, Pod: "backend-4", Node: "w4"})
	v := check(t, b.Run(), invariant.QuietWithin{Limit: second}, verdict.Violated, 18010*ms)
	lines(t, v)
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
	v := check(t, b.Pod(20*second, silent).Run(), invariant.QuietWithin{Limit: second, Terminations: many}, verdict.Held, 0)
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
	outcome(t, v, verdict.Unknown)
	if !(judge.Found{Verdicts: []verdict.Verdict{v}}).Busy() {
		t.Errorf("the scenario does not run again: %v", v.Numbers)
	}
}
