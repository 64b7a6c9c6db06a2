package invariant_test

import (
	"math"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// busy adds samples of a part of the harness, once a second, on whose machine no processor was idle and some task waited for one for a share
// of the time.
func busy(b *ht.Builder, of string, from, to history.Offset, share float64) *ht.Builder {
	return pressed(b, of, from, to, share, 1)
}

// pressed is busy with the share of processor time that was used.
func pressed(b *ht.Builder, of string, from, to history.Offset, share, used float64) *ht.Builder {
	for at := from + second; at <= to; at += second {
		heard(b, at, history.Noise{Of: of, Used: used, CPU: share})
	}
	return b
}

// TestAnswersOfABusyMachine: what was slow while the machine of all nodes had no time proves nothing.
func TestAnswersOfABusyMachine(t *testing.T) {
	all := invariant.AnswersWithin{}
	const fresh, worker = history.LaneFresh, "load-0"

	one := func() *ht.Builder { return slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms) } // from 17 s to 19.9 s
	share := func() *ht.Builder { return slowed(watched(), fresh, 18*second, 19*second, 1500*ms) }
	checkAll(t, []sample{
		{"all the while", busy(one(), worker, 16*second, 21*second, 0.97), all, verdict.Unknown, 0},
		{"on the machine of the harness, which may be another", busy(one(), history.NoiseHarness, 16*second, 21*second, 0.97), all, verdict.Violated, 17 * second},
		{"not quite", busy(one(), worker, 16*second, 21*second, 0.96), all, verdict.Violated, 17 * second},
		{"a task waits for its own quota, on a machine that is idle", pressed(one(), worker, 16*second, 21*second, 1, 0.5), all, verdict.Violated, 17 * second},
		{"how much was used is not known", pressed(one(), worker, 16*second, 21*second, 1, 0), all, verdict.Violated, 17 * second},
		{"for two seconds", busy(one(), worker, 18*second, 20*second, 1), all, verdict.Violated, 17 * second},
		{"until it was sent", busy(one(), worker, 12*second, 16*second, 1), all, verdict.Unknown, 0},
		{"longer before than anything follows", busy(one(), worker, 8*second, 13*second, 1), all, verdict.Violated, 17 * second},
		{"half the time, told twice", busy(busy(one(), worker, 16*second, 21*second, 0.5), worker, 16*second, 21*second, 0.5), all, verdict.Violated, 17 * second},
		{"half the time, told by two", busy(busy(one(), worker, 16*second, 21*second, 0.5), "load-1", 16*second, 21*second, 0.5), all, verdict.Violated, 17 * second},
		{"a share that no kernel tells", busy(one(), worker, 16*second, 18*second, 9), all, verdict.Violated, 17 * second},
		{"nodes have machines of their own", busy(one(), worker, 16*second, 21*second, 1).Header(func(h *history.Header) { h.Cluster.Provider = "existing" }), all,
			verdict.Violated, 17 * second},
		{"one of a hundred", busy(share(), worker, 15*second, 21*second, 1), all, verdict.Unknown, 0},
		{"one of a hundred, also at another time", busy(slowed(share(), fresh, 26*second, 26800*ms, 1500*ms), worker, 15*second, 21*second, 1), all,
			verdict.Violated, 18 * second},
		{"another answer at another time", busy(slowed(one(), fresh, 26*second, 26005*ms, 2500*ms), worker, 16*second, 21*second, 1), all, verdict.Violated, 26 * second},
		{"busy, and nothing is slow", busy(watched(), worker, 16*second, 36*second, 1), all, verdict.Held, 0},
	})
}

// TestFailuresOfABusyMachine: what failed while the machine of all nodes had no time, or just after that, proves nothing, whatever the server said.
func TestFailuresOfABusyMachine(t *testing.T) {

	for _, test := range []struct {
		name string
		run  *ht.Builder
		want verdict.Outcome
	}{
		{"timed out, until then busy", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 0.97), verdict.Unknown},
		{"timed out, and busy from then on", busy(givenUp(history.TimeoutResponse), ht.Worker, 20*second, 24*second, 1), verdict.Unknown},
		{"for its own quota a task waits also on a machine that is idle", pressed(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 1, 0.9),
			verdict.Violated},
		{"answered late", busy(givenUp(history.Late), ht.Worker, 17*second, 22*second, 1), verdict.Unknown},
		{"busy for the second of the request only, as on any machine", busy(givenUp(history.TimeoutConnect), ht.Worker, 20*second, 21*second, 1), verdict.Violated},
		{"not quite", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 24*second, 0.96), verdict.Violated},
		{"busy just before", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 18*second, 1), verdict.Unknown},
		{"busy before", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 16900*ms, 1), verdict.Violated},
		{"busy from then on", busy(givenUp(history.TimeoutConnect), ht.Worker, 22*second, 30*second, 1), verdict.Violated},
		{"refused", busy(givenUp(history.Refused), ht.Worker, 12*second, 30*second, 1), verdict.Unknown},
		{"answered wrongly", busy(givenUp(history.WrongBody), ht.Worker, 12*second, 30*second, 1), verdict.Unknown},
		{"nodes have machines of their own", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 30*second, 1).Header(func(h *history.Header) {
			h.Cluster.Provider = "existing"
		}), verdict.Violated},
		{"one more, at another time", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 1).
			Fail(history.LaneReused, 30*second, 30010*ms, history.TimeoutResponse), verdict.Violated},
		{"a late proxy", busy(lateProxy(), ht.Worker, 13*second, 22*second, 1), verdict.Unknown},
		{"a late proxy, and busy for the last two seconds", busy(lateProxy(), ht.Worker, 18*second, 20*second, 1), verdict.Violated},
		{"a pod that ends at once, and gives no answer", busy(astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.TimeoutResponse),
			ht.Worker, 12*second, 30*second, 1), verdict.Unknown},
		{"the same on a machine that is not busy", astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.TimeoutResponse),
			verdict.Violated},
		{"a pod that ends at once", busy(astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.Refused), ht.Worker,
			12*second, 30*second, 1), verdict.Unknown},
		{"times that no clock has", busy(ht.Healthy(), ht.Worker, 12*second, 30*second, 1).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 20*second && r.Due < 20010*ms {
				r.Outcome, r.Sent, r.Done = history.TimeoutConnect, math.MaxInt64, math.MinInt64
			}
		}), verdict.Violated},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), invariant.NoFailedRequests{})
			outcome(t, v, test.want)
			if again := (judge.Found{Verdicts: []verdict.Verdict{v}}).Busy(); again != (test.want == verdict.Unknown) {
				t.Errorf("it runs again: %v, %v", again, v.Numbers)
			}
		})
	}
}

// lateProxy is a record in which a proxy sends requests to a pod that was withdrawn three seconds before, and that ended after its preStop sleep.
func lateProxy() *ht.Builder {
	return astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true, PreStop: 3 * second}), 20100*ms, 20200*ms, history.Refused)
}

// TestPodsMovedOnABusyMachine: a node that a busy machine lost may have moved the pods, and the scenario runs again.
func TestPodsMovedOnABusyMachine(t *testing.T) {
	v := judge.Check(busy(lostUnasked(ht.Healthy()), ht.Worker, 12*second, 22*second, 1).Run(), invariant.Spread{TopologyKey: ht.HostLabel, Max: 0})
	outcome(t, v, verdict.Unknown)
	if found := (judge.Found{Verdicts: []verdict.Verdict{v}}); !found.Busy() {
		t.Errorf("the scenario does not run again: %v", v.Numbers)
	}
}

// TestABurstOnABusyMachine: a busy machine explains the burst as well as the victims do, so that nothing is known. It does not make it Held.
func TestABurstOnABusyMachine(t *testing.T) {
	p := invariant.FailuresEndWithin{}
	burst := func() *ht.Builder {
		return astray(failVictims(killed(), history.LaneFresh, 15600*ms, 20900*ms), 18*second, 18200*ms, history.TimeoutConnect).EditRequests(func(r *history.Request) {
			if r.Outcome == history.TimeoutConnect && r.Pod == "" {
				r.Done = r.Sent + second
			}
		})
	}
	outcome(t, judge.Check(burst().Run(), p), verdict.Violated)
	v := judge.Check(busy(burst(), ht.Worker, 14*second, 20*second, 1).Run(), p)
	outcome(t, v, verdict.Unknown)
	if !(judge.Found{Verdicts: []verdict.Verdict{v}}).Busy() {
		t.Errorf("the scenario does not run again: %v", v.Numbers)
	}
}

// TestNoiseThatIsCountedOnce: failures that noise explains are not counted for the victims' share a second time.
func TestNoiseThatIsCountedOnce(t *testing.T) {
	run := busy(behindAService(killed()).EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Due >= 16900*ms && r.Due < 17*second {
			r.Outcome, r.Status, r.Done, r.Pod, r.Node = history.TimeoutConnect, 0, 18500*ms, "", ""
		}
	}), ht.Worker, 12*second, 20*second, 1)
	v := judge.Check(run.Run(), invariant.FailuresEndWithin{})
	outcome(t, v, verdict.Unknown)
	numbers(t, v, map[string]float64{"failed": 20, "excused": 20, evidence.BusyNumber: 20})
}
