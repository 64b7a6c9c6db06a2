package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// grouped adds a sample of the harness for each second, with what control groups used.
func grouped(b *ht.Builder, from, to history.Offset, g history.CPUGroups) *ht.Builder {
	g.Processors = 2
	for at := from + second; at <= to; at += second {
		heard(b, at, history.Noise{Of: history.NoiseHarness, Used: 1, Groups: &g})
	}
	return b
}

// heldBack is what a quota of a part of two processors shows that was used up.
func heldBack(part float64) history.CPUGroups {
	return history.CPUGroups{Quota: &history.CPUQuota{Group: "/engine", Held: history.Offset((1 - part) * 2 * float64(second)), Used: history.Offset(part * 2 * float64(second))}}
}

// lateWorker is a record of a load worker that is late on a machine with idle processors, from one moment to another.
func lateWorker(b *ht.Builder, from, to history.Offset, n history.Noise) *ht.Builder {
	n.Of, n.CPU = ht.Worker, max(n.CPU, 0.98)
	for at := from + second; at <= to; at += second {
		heard(b, at, n)
	}
	return b
}

// TestAQuotaAboveTheNodes: no process inside of a node sees it, and it takes the time of all of them.
func TestAQuotaAboveTheNodes(t *testing.T) {
	refused := func() *ht.Builder { return givenUp(history.Refused) }
	const third, half, quota = 1.0 / 3, 0.5, "may come from a CPU quota"
	for name, test := range map[string]struct {
		run  *ht.Builder
		want verdict.Outcome
	}{
		"a third of the processors":                       {grouped(refused(), 17*second, 22*second, heldBack(third)), verdict.Unknown},
		"half of the processors, with which all is found": {grouped(refused(), 17*second, 22*second, heldBack(half)), verdict.Violated},
		"a third, of which three quarters are wanted":     {grouped(refused(), 17*second, 22*second, history.CPUGroups{Quota: &history.CPUQuota{Held: 900 * ms, Used: 600 * ms}}), verdict.Violated},
		"that of one node among others": {grouped(refused(), 17*second, 22*second, history.CPUGroups{Nodes: map[string]float64{"w1": 0.5, "w2": 1.2}, Quota: &history.CPUQuota{Held: 900 * ms, Used: 500 * ms}}),
			verdict.Unknown},
		"for a second":              {grouped(refused(), 20*second, 21*second, heldBack(third)), verdict.Violated},
		"at another time":           {grouped(refused(), 25*second, 32*second, heldBack(third)), verdict.Violated},
		"one more, at another time": {grouped(refused(), 17*second, 22*second, heldBack(third)).Fail(history.LaneReused, 30*second, 30010*ms, history.Reset), verdict.Violated},
		"nodes have machines of their own": {grouped(refused(), 17*second, 22*second, heldBack(third)).Header(func(h *history.Header) { h.Cluster.Provider = "existing" }),
			verdict.Violated},
		"a negative quota":                {grouped(refused(), 17*second, 22*second, history.CPUGroups{Quota: &history.CPUQuota{Held: -second, Used: second}}), verdict.Violated},
		"not read, but it shows":          {lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.3, Pause: 110 * ms}), verdict.Unknown},
		"a pod's own, which shows":        {lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.3, Pause: 40 * ms}), verdict.Violated},
		"the load worker's own":           {lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.3, Pause: 110 * ms, Throttled: 100 * ms}), verdict.Violated},
		"it does not show if others work": {lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.93, Pause: 110 * ms}), verdict.Violated},
		"it was read, and there is none": {grouped(lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.3, Pause: 110 * ms}), 17*second, 22*second, history.CPUGroups{}),
			verdict.Violated},
		"it could not be read": {grouped(lateWorker(refused(), 17*second, 22*second, history.Noise{Used: 0.3, Pause: 110 * ms}), 17*second, 22*second, history.CPUGroups{Unknown: "elsewhere"}),
			verdict.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), invariant.NoFailedRequests{})
			outcome(t, v, test.want)
			if again := (judge.Found{Verdicts: []verdict.Verdict{v}}).Busy(); again != (test.want == verdict.Unknown) {
				t.Errorf("it runs again: %v, %v", again, v.Numbers)
			}
		})
	}
}

// TestAnApplicationThatSaturatesTheMachine is told so, and gets no second try.
func TestAnApplicationThatSaturatesTheMachine(t *testing.T) {
	uid := ht.ReadyPod("backend-4", "w4", history.Modified).UID
	run := func(pods map[string]float64) judge.Found {
		b := grouped(busy(givenUp(history.Refused), ht.Worker, 17*second, 22*second, 1), 17*second, 22*second, history.CPUGroups{Pods: pods})
		return judge.Found{Verdicts: []verdict.Verdict{judge.Check(b.Run(), invariant.NoFailedRequests{})}}
	}
	itself := run(map[string]float64{uid: 1.7})
	v := itself.Verdicts[0]
	outcome(t, v, verdict.Unknown)
	if itself.Busy() || v.Numbers[evidence.OwnNumber] != 20 {
		t.Errorf("a second run would hide it: %v", v.Numbers)
	}
	for name, pods := range map[string]map[string]float64{"less than half": {uid: 0.9}, "pods of nobody": {"other": 1.9}, "nothing known": nil} {
		if others := run(pods); !others.Busy() || others.Verdicts[0].Numbers[evidence.OwnNumber] != 0 {
			t.Errorf("%s: %s", name, others.Verdicts[0].Seen)
		}
	}
	b := grouped(busy(givenUp(history.Refused), ht.Worker, 17*second, 22*second, 1), 17*second, 22*second, history.CPUGroups{Pods: map[string]float64{uid: 1.7}})
	b = paused(b, 20500*ms, second) // another reason for the same failures does not hide it
	if v := judge.Check(b.Run(), invariant.NoFailedRequests{}); (judge.Found{Verdicts: []verdict.Verdict{v}}).Busy() {
		t.Errorf("a pause hides what the application did: %s", v.Seen)
	}
}

// TestSamplesThatWereEditedAway: a record without samples, or without some, is never Held for it.
func TestSamplesThatWereEditedAway(t *testing.T) {
	whole := grouped(busy(givenUp(history.Refused), ht.Worker, 12*second, 34*second, 1), 12*second, 34*second, heldBack(0.3))
	for name, drop := range map[string]func(history.Event) bool{
		"of load workers":  func(e history.Event) bool { return e.Noise != nil && e.Noise.Of == ht.Worker },
		"of the harness":   func(e history.Event) bool { return e.Noise != nil && e.Noise.Of == history.NoiseHarness },
		"all":              func(e history.Event) bool { return e.Noise != nil },
		"while they count": func(e history.Event) bool { return e.Noise != nil && e.T >= 18*second && e.T < 25*second },
	} {
		if v := judge.Check(whole.DropEvents(drop).Run(), invariant.NoFailedRequests{}); v.Outcome == verdict.Held {
			t.Errorf("samples %s: %s", name, v.Seen)
		}
	}
}

// TestALimitOnASlowMachine: a limit is missed if it would be without all the time for which the machine was slow.
func TestALimitOnASlowMachine(t *testing.T) {
	p := invariant.RecoversWithin{Limit: 2 * second, FromFault: true}
	plain := judge.Check(ht.Healthy().Run(), p)
	if plain.Outcome != verdict.Violated {
		t.Fatalf("the record keeps the limit: %s", plain.Seen)
	}
	v := judge.Check(busy(ht.Healthy(), ht.Worker, 12*second, 22*second, 1).Run(), p)
	outcome(t, v, verdict.Unknown)
	if !(judge.Found{Verdicts: []verdict.Verdict{v}}).Busy() {
		t.Errorf("the scenario does not run again: %v", v.Numbers)
	}
	short := busy(ht.Healthy(), ht.Worker, 8*second, 13*second, 1)
	if v := judge.Check(short.Run(), p); v.Outcome != verdict.Violated {
		t.Errorf("slow before: %s", v.Seen)
	}
}

// TestLoadThatASaturatedMachineDidNotSend is Unknown, and sent in a second run; so is no load that was missing on a machine that had time.
func TestLoadThatASaturatedMachineDidNotSend(t *testing.T) {
	gap := func() *ht.Builder {
		return ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Sent >= 20*second && r.Sent < 20400*ms {
				r.Sent, r.Done = 20400*ms, 20400*ms+ht.Latency
			}
		})
	}
	for name, test := range map[string]struct {
		run   *ht.Builder
		again bool
	}{
		"saturated":                     {busy(gap(), ht.Worker, 17*second, 22*second, 1), true},
		"under a quota":                 {grouped(gap(), 17*second, 22*second, heldBack(1.0/3)), true},
		"a machine with time":           {gap(), false},
		"saturated before the fault":    {busy(gap(), ht.Worker, 5*second, 9*second, 1), false},
		"stopped by the worker's quota": {heard(gap(), 20400*ms, history.Noise{Of: ht.Worker, Pause: 400 * ms, Throttled: 400 * ms}), false},
	} {
		v := judge.Check(test.run.Run(), invariant.NoFailedRequests{})
		if again := (judge.Found{Verdicts: []verdict.Verdict{v}}).Busy(); v.Outcome != verdict.Unknown || again != test.again {
			t.Errorf("%s: %s, and it runs again: %v: %s", name, v.Outcome, again, v.Seen)
		}
	}
}
