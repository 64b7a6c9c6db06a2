package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The parts of scaled.
const (
	scaleAt = 15500 * ms
	newAt   = 19 * second // the last new pod is ready
	countAt = 24 * second // with within
	unscale = 64 * second
	within  = 5 * second
	oldPods = 3
	allPods = 8
)

// scaled is the record of a scale-up from 3 to 8 pods, backend-1 to backend-8, and back; it has no requests yet.
func scaled() *ht.Builder {
	b := ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.Fault != nil || e.Eviction != nil || e.Pod != nil || e.Slice != nil || e.Workload != nil || e.Budget != nil || e.Phase != nil
	}).DropRequests(func(history.Request) bool { return true })
	b.Phase(history.Deploy, 2*second).Phase(history.Steady, ht.SteadyAt).Phase(history.Disturbed, ht.DisturbedAt)
	b.Phase(history.Recovered, 70*second).Phase(history.Drained, 75*second)
	for stage, at := range map[history.FaultStage]history.Offset{
		history.Injecting: scaleAt, history.Seen: newAt + 200*ms, history.Healing: unscale, history.Healed: 69 * second,
	} {
		b.Fault(at, history.FaultMark{Name: "scale to 8", Stage: stage})
	}
	w := ht.BackendWorkload(oldPods, oldPods)
	w.Replicas = oldPods
	b.Workload(3*second, w)
	w.Replicas = allPods
	b.Workload(scaleAt, w)
	for i := 1; i <= allPods; i++ {
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", i), fmt.Sprintf("w%d", (i-1)%6+1), history.Added)
		if i <= oldPods {
			b.Pod(3*second, p)
			continue
		}
		p.Ready = false
		b.Pod(scaleAt, p)
		p.Ready, p.Change = true, history.Modified
		b.Pod(newAt-history.Offset(allPods-i)*100*ms, p)
		p.Deleting = true
		b.Pod(unscale+100*ms, p)
		p.Change = history.Deleted
		b.Pod(68*second, p)
	}
	return b.Header(func(h *history.Header) {
		h.Plan = &history.Plan{Lanes: []history.LanePlan{{Lane: history.LaneReused, Target: "http://backend/", RatePerSecond: 200}}}
	})
}

// dealing is how a lane's connections come to pods.
type dealing struct {
	slots      int // connections that take turns
	closeAfter int // requests each of them carries; 0: any number
	// pick chooses a pod, from 1, for a new connection, of the first n.
	pick func(n int) int
}

func fair(seed uint64) dealing {
	random := rand.New(rand.NewPCG(seed, 99))
	return dealing{slots: 16, closeAfter: 20, pick: func(n int) int { return 1 + random.IntN(n) }}
}

// dealt is a record with 200 requests a second on the reused lane.
func dealt(run history.Run, d dealing) history.Run {
	type slot struct {
		pod, carried int
		conn         uint64
	}
	slots := make([]slot, d.slots)
	var rows []history.Request
	for seq, due := uint64(0), ht.SteadyAt; due < 75*second; seq, due = seq+1, due+5*ms {
		s := &slots[seq%uint64(d.slots)]
		pods := oldPods
		if due > newAt+second && due < unscale {
			pods = allPods
		}
		again := s.conn != 0
		if !again || d.closeAfter > 0 && s.carried == d.closeAfter || s.pod > pods {
			again, *s = false, slot{pod: d.pick(pods), conn: seq + 1}
		}
		s.carried++
		rows = append(rows, history.Request{
			Worker: ht.Worker, Lane: history.LaneReused, Seq: seq, Due: due, Sent: due, Done: due + 2*ms, Outcome: history.OK,
			Status: 200, Attempts: 1, Bytes: 5, Conn: s.conn, Reused: again, Pod: fmt.Sprintf("backend-%d", s.pod), Node: fmt.Sprintf("w%d", (s.pod-1)%6+1),
		})
	}
	return withRows(run, rows)
}

var eachQuarter = invariant.SharesLoad{AtLeast: 0.25, Within: within}

func TestSharesLoad(t *testing.T) {
	plain := idle(scaled())
	kept, few, partial, odd := fair(1), fair(1), fair(1), fair(5)
	kept.closeAfter, few.closeAfter, odd.closeAfter = 0, 400, 400
	random := rand.New(rand.NewPCG(1, 1))
	partial.pick = func(n int) int { return 1 + random.IntN(n-n/allPods) } // of eight, never the last
	together := eachQuarter
	together.Together = true

	for _, s := range []struct {
		name    string
		deal    dealing
		promise invariant.SharesLoad
		outcome verdict.Outcome
		at      history.Offset
	}{
		{"fair", fair(1), eachQuarter, verdict.Held, 0},
		{"fair, new pods together", fair(1), together, verdict.Held, 0},
		{"connections that never end", kept, eachQuarter, verdict.Violated, countAt},
		{"connections that never end, new pods together", kept, together, verdict.Violated, countAt},
		{"one is left out", partial, eachQuarter, verdict.Violated, countAt},
		{"one is left out, new pods together", partial, together, verdict.Held, 0},
		{"too few connections to be even but by luck", few, eachQuarter, verdict.Unknown, 0},
		{"too few connections to blame them", odd, eachQuarter, verdict.Unknown, 0},
		{"enough for the new pods together", few, together, verdict.Held, 0},
	} {
		t.Run(s.name, func(t *testing.T) { check(t, dealt(plain, s.deal), s.promise, s.outcome, s.at) })
	}
}

// TestSharesLoadDoubts: of each, one thing is missing without which shares say nothing.
func TestSharesLoadDoubts(t *testing.T) {
	pods := func(change func(*history.Pod)) *ht.Builder {
		return scaled().EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				change(e.Pod)
			}
		})
	}
	blink := ht.ReadyPod("backend-2", "w2", history.Modified)
	blink.Ready = false
	far, alone := eachQuarter, eachQuarter
	far.Within = 45 * second
	alone.Together = true
	left := fair(1)
	left.closeAfter = 0
	for _, s := range []struct {
		name    string
		run     history.Run
		promise invariant.SharesLoad
	}{
		{"no new pod", dealt(idle(scaled().EditEvents(func(e *history.Event) {
			if e.Phase != nil && e.Phase.Name == history.Disturbed {
				e.T = 30 * second
			}
		})), fair(1)), eachQuarter},
		{"a new pod that was never ready", dealt(idle(pods(func(p *history.Pod) { p.Ready = p.Ready && p.Name <= "backend-3" })), fair(1)), eachQuarter},
		{"one that was not ready all the time", dealt(idle(scaled().Pod(40*second, blink)), fair(1)), eachQuarter},
		{"undone too soon", dealt(idle(scaled()), fair(1)), far},
		{"nobody to share with", dealt(idle(pods(func(p *history.Pod) { p.Ready = p.Ready && p.Name > "backend-3" })), fair(1)), alone},
		{"a gateway", withRequests(dealt(idle(scaled()), fair(1)), func(r *history.Request) { r.GatewayTries = 1 }), eachQuarter},
		{"unfair behind a gateway", withRequests(dealt(idle(scaled()), left), func(r *history.Request) { r.GatewayTries = 1 }), eachQuarter},
		{"unfair as far as blind watches saw", dealt(idle(scaled().Gap("pods", 30*second, 31*second)), left), eachQuarter},
		{"another lane", dealt(idle(scaled()), fair(1)), invariant.SharesLoad{AtLeast: 0.25, Lane: history.LaneFresh}},
		{"another workload", dealt(idle(scaled()), fair(1)), invariant.SharesLoad{AtLeast: 0.25, Workload: "frontend"}},
		{"too few requests", withRequests(dealt(idle(scaled()), fair(1)), func(r *history.Request) {
			if r.Due >= 30*second && r.Due < 31*second {
				r.Outcome = history.Unsent
			}
		}), eachQuarter},
		{"a fault that did not bite", dealt(idle(setStage(scaled(), history.Seen, -1)), fair(1)), eachQuarter},
	} {
		t.Run(s.name, func(t *testing.T) { check(t, s.run, s.promise, verdict.Unknown, 0) })
	}
}

// TestFairDealsAreHeld: where the connections are as many as are needed, chance breaks nothing.
func TestFairDealsAreHeld(t *testing.T) {
	plain := idle(scaled())
	for seed := range uint64(20) {
		if v := judge.Check(dealt(plain, fair(seed)), eachQuarter); v.Outcome != verdict.Held {
			t.Errorf("seed %d is %s: %s", seed, v.Outcome, v.Seen)
		}
	}
}

// TestUnevenDealsAreNotBlamed: where they are too few, luck is neither praised nor blamed.
func TestUnevenDealsAreNotBlamed(t *testing.T) {
	plain, short := idle(scaled()), 0
	for seed := range uint64(20) {
		d := fair(seed)
		d.closeAfter = 200
		v := judge.Check(dealt(plain, d), eachQuarter)
		if v.Outcome != verdict.Unknown {
			t.Errorf("seed %d is %s: %s", seed, v.Outcome, v.Seen)
		}
		if v.Numbers["smallestShare"] < eachQuarter.AtLeast {
			short++
		}
	}
	if short == 0 {
		t.Error("no deal left a pod short: nothing was tried")
	}
}

func TestSharesLoadEvidence(t *testing.T) {
	v := judge.Check(dealt(idle(scaled()), fair(1)), eachQuarter)
	lines(t, v)
	numbers(t, v, map[string]float64{
		"pods": 8, "newPods": 5, "connections": 416, "connectionsNeeded": 242, "smallestShare": 0.67, "largestShare": 1.255,
		"newPodsShare": 0.965, "windowSeconds": 40, "requests": 8000,
	})
}

// TestSharesOfManyPods: those that got least are told, and the rest in one line.
func TestSharesOfManyPods(t *testing.T) {
	b := scaled()
	for i := range 4 {
		p := ht.ReadyPod(fmt.Sprintf("idle-%d", i), "w1", history.Listed)
		b.Pod(3*second, p)
	}
	v := judge.Check(dealt(idle(b), fair(1)), eachQuarter)
	if len(v.Evidence) != verdict.MaxEvidence || v.Outcome != verdict.Violated ||
		v.Evidence[0] != "idle-0 on w1: 0.00 until 24s, then 0.00, 0.00, 0.00, 0.00; 0.00 in all, 0 connections" ||
		v.Evidence[9] != "3 pods more, with 1.57 to 1.88" {
		t.Errorf("%s: %q", v.Outcome, v.Evidence)
	}
}
