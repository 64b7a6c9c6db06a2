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

// blackHole takes every request of both lanes between two moments, and gives no answer.
func blackHole(from, to history.Offset) *ht.Builder {
	return behindAService(ht.Healthy()).EditRequests(func(r *history.Request) {
		if r.Due >= from && r.Due < to {
			r.Outcome, r.Status, r.Done, r.Pod, r.Node, r.Zone, r.Revision = history.TimeoutConnect, 0, r.Sent+second, "", "", "", ""
		}
	})
}

func paused(b *ht.Builder, at history.Offset, pause history.Offset) *ht.Builder {
	return heard(b, at, history.Noise{Of: ht.Worker, Pause: pause})
}

// A pause of a quarter of a second is found in any run. It explains no outage, of any kind.
func TestAShortPauseExplainsNoOutage(t *testing.T) {
	p := invariant.NoFailedRequests{}
	hangs := func() *ht.Builder { // a pod that answers nothing for 4 s, on connections that are known to lead to it
		return ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Pod == "backend-4" && r.Due >= 28*second && r.Due < 31*second {
				r.Outcome, r.Status, r.Done, r.Inferred = history.TimeoutResponse, 0, r.Sent+3*second, true
			}
		})
	}
	stolen := func(b *ht.Builder) *ht.Builder { // a machine that gets three quarters of its processors, all the time
		for at := 11 * second; at < 39*second; at += second {
			heard(b, at, history.Noise{Of: ht.Worker, Pause: 30 * ms, Steal: 0.25})
		}
		return b
	}
	for name, s := range map[string]*ht.Builder{
		"a black hole, and a pause":                                          paused(blackHole(28*second, 31*second), 29500*ms, 250*ms),
		"a black hole, and a stolen part":                                    stolen(blackHole(28*second, 31*second)),
		"a black hole that lasts for longer than the pause and what follows": paused(blackHole(26*second, 31*second), 29500*ms, second),
		"while a pod is withdrawn":                                           paused(blackHole(21*second, 23*second), 22*second, 250*ms),
		"a pod that hangs":                                                   paused(hangs(), 30*second, 260*ms),
	} {
		v := judge.Check(s.Run(), p)
		outcome(t, v, verdict.Violated, name)
	}
}

// What a pause explains is not counted in what the system is blamed for: neither the number nor the first of it.
func TestExcusedFailuresDoNotCount(t *testing.T) {
	b := paused(givenUp(history.TimeoutConnect), 21100*ms, second).Fail(history.LaneReused, 25*second, 25010*ms, history.Refused)
	v := check(t, b.Run(), invariant.NoFailedRequests{}, verdict.Violated, 25*second)
	numbers(t, v, map[string]float64{"failed": 22, "excused": 20, "firstFailureSeconds": 25})
	if !strings.HasPrefix(v.Evidence[0], "25s reused") || strings.Contains(strings.Join(v.Evidence[1:len(v.Evidence)-1], " "), "timeout-connect") {
		t.Errorf("%q", v.Evidence)
	}
}

// A worker that stands still while a node is not yet noticed to be lost gives up on more than the victims' share. That is no more the
// system's than it would be at any other time.
func TestNoiseInsideAnOutage(t *testing.T) {
	outage := func() *ht.Builder {
		return behindAService(killed()).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 16900*ms && r.Due < 17*second {
				r.Outcome, r.Status, r.Done, r.Pod, r.Node = history.TimeoutConnect, 0, 18500*ms, "", ""
			}
		})
	}
	p := invariant.FailuresEndWithin{}
	outcome(t, judge.Check(outage().Run(), p), verdict.Violated)
	outcome(t, judge.Check(paused(outage(), 18550*ms, 1500*ms).Run(), p), verdict.Unknown)
	outcome(t, judge.Check(paused(outage(), 20*second, 250*ms).Run(), p), verdict.Violated)
	refused := astray(paused(outage(), 18550*ms, 1500*ms), 20100*ms, 20700*ms, history.Refused)
	outcome(t, judge.Check(refused.Run(), p), verdict.Violated)
}
