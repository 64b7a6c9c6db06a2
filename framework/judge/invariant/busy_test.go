package invariant_test

import (
	"math"
	"strings"
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
	const (
		oneSlow = "the slowest answer on fresh took 2.9s; before the first fault began it was 2ms, and 2s more is allowed"
		many    = "the 99th percentile while disturbed on fresh took 1.5s; before the first fault began it was 2ms, and 1s more is allowed"
		unknown = "no verdict: "
		because = "; it may come from the busy machine: "
		waits   = "from 16s to 21s, a task waited for a processor of the machine that all nodes share 97 % of the time, and 100 % of its processor time was used"
	)
	one := func() *ht.Builder { return slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms) } // from 17 s to 19.9 s
	share := func() *ht.Builder { return slowed(watched(), fresh, 18*second, 19*second, 1500*ms) }
	checkAll(t, []sample{
		{"all the while", busy(one(), worker, 16*second, 21*second, 0.97), all, verdict.Unknown, 0, unknown + oneSlow + because + waits},
		{"on the machine of the harness, which may be another", busy(one(), history.NoiseHarness, 16*second, 21*second, 0.97), all, verdict.Violated,
			17 * second, oneSlow + ", sent at 17s"},
		{"not quite", busy(one(), worker, 16*second, 21*second, 0.96), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"a task waits for its own quota, on a machine that is idle", pressed(one(), worker, 16*second, 21*second, 1, 0.5), all, verdict.Violated,
			17 * second, oneSlow + ", sent at 17s"},
		{"how much was used is not known", pressed(one(), worker, 16*second, 21*second, 1, 0), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"for two seconds", busy(one(), worker, 18*second, 20*second, 1), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"until it was sent", busy(one(), worker, 12*second, 16*second, 1), all, verdict.Unknown, 0, unknown + oneSlow + because +
			"from 12s to 16s, a task waited for a processor of the machine that all nodes share 100 % of the time, and 100 % of its processor time was used"},
		{"longer before than anything follows", busy(one(), worker, 8*second, 13*second, 1), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"half the time, told twice", busy(busy(one(), worker, 16*second, 21*second, 0.5), worker, 16*second, 21*second, 0.5), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"half the time, told by two", busy(busy(one(), worker, 16*second, 21*second, 0.5), "load-1", 16*second, 21*second, 0.5), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"a share that no kernel tells", busy(one(), worker, 16*second, 18*second, 9), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"nodes have machines of their own", busy(one(), worker, 16*second, 21*second, 1).Header(func(h *history.Header) { h.Cluster.Provider = "existing" }), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"one of a hundred", busy(share(), worker, 15*second, 21*second, 1), all, verdict.Unknown, 0, unknown + many +
			"; without the answers that came while the machine was saturated, it took 2ms; it may come from the busy machine: from 15s to 21s, a task waited " +
			"for a processor of the machine that all nodes share 100 % of the time, and 100 % of its processor time was used"},
		{"one of a hundred, also at another time", busy(slowed(share(), fresh, 26*second, 26800*ms, 1500*ms), worker, 15*second, 21*second, 1), all,
			verdict.Violated, 18 * second, many + ", sent at 18s"},
		{"another answer at another time", busy(slowed(one(), fresh, 26*second, 26005*ms, 2500*ms), worker, 16*second, 21*second, 1), all, verdict.Violated,
			26 * second, "the slowest answer on fresh took 2.5s; before the first fault began it was 2ms, and 2s more is allowed, sent at 26s"},
		{"busy, and nothing is slow", busy(watched(), worker, 16*second, 36*second, 1), all, verdict.Held, 0,
			"the slowest answer took 2ms on fresh, and 2ms before the first fault began; 99 of 100 took at most 2ms on fresh, and 2ms before, " +
				"through 1 pod termination and 0 node losses" + noneMissed},
	})
}

// TestFailuresOfABusyMachine: what failed while the machine of all nodes had no time, or just after that, proves nothing, whatever the server said.
func TestFailuresOfABusyMachine(t *testing.T) {
	const unknown = "no verdict: 20 of 20 failures may come from the busy machine: from "
	for _, test := range []struct {
		name string
		run  *ht.Builder
		want verdict.Outcome
		says string
	}{
		{"timed out, until then busy", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 0.97), verdict.Unknown,
			unknown + "17s to 22s, a task waited"},
		{"timed out, and busy from then on", busy(givenUp(history.TimeoutResponse), ht.Worker, 20*second, 24*second, 1), verdict.Unknown, unknown},
		{"for its own quota a task waits also on a machine that is idle", pressed(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 1, 0.9),
			verdict.Violated, "20 of 12000 requests failed"},
		{"answered late", busy(givenUp(history.Late), ht.Worker, 17*second, 22*second, 1), verdict.Unknown,
			unknown},
		{"busy for the second of the request only, as on any machine", busy(givenUp(history.TimeoutConnect), ht.Worker, 20*second, 21*second, 1),
			verdict.Violated, "20 of 12000 requests failed"},
		{"not quite", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 24*second, 0.96), verdict.Violated, "20 of 12000 requests failed"},
		{"busy just before", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 18*second, 1), verdict.Unknown, unknown},
		{"busy before", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 16900*ms, 1), verdict.Violated, "20 of 12000 requests failed"},
		{"busy from then on", busy(givenUp(history.TimeoutConnect), ht.Worker, 22*second, 30*second, 1), verdict.Violated, "20 of 12000 requests failed"},
		{"refused", busy(givenUp(history.Refused), ht.Worker, 12*second, 30*second, 1), verdict.Unknown, unknown},
		{"answered wrongly", busy(givenUp(history.WrongBody), ht.Worker, 12*second, 30*second, 1), verdict.Unknown, unknown},
		{"nodes have machines of their own", busy(givenUp(history.TimeoutConnect), ht.Worker, 12*second, 30*second, 1).Header(func(h *history.Header) {
			h.Cluster.Provider = "existing"
		}), verdict.Violated, "20 of 12000 requests failed"},
		{"one more, at another time", busy(givenUp(history.TimeoutConnect), ht.Worker, 17*second, 22*second, 1).
			Fail(history.LaneReused, 30*second, 30010*ms, history.TimeoutResponse), verdict.Violated,
			"2 of 12000 requests failed (0 on fresh, 2 on reused), the first at 30s: timeout-response"},
		{"a late proxy", busy(lateProxy(), ht.Worker, 13*second, 22*second, 1), verdict.Unknown,
			unknown},
		{"a late proxy, and busy for the last two seconds", busy(lateProxy(), ht.Worker, 18*second, 20*second, 1), verdict.Violated, "20 of 12000 requests failed"},
		{"a pod that ends at once, and gives no answer", busy(astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.TimeoutResponse),
			ht.Worker, 12*second, 30*second, 1), verdict.Unknown, unknown},
		{"the same on a machine that is not busy", astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.TimeoutResponse),
			verdict.Violated, "20 of 12000 requests failed"},
		{"a pod that ends at once", busy(astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 17100*ms, 17200*ms, history.Refused), ht.Worker,
			12*second, 30*second, 1), verdict.Unknown, unknown},
		{"times that no clock has", busy(ht.Healthy(), ht.Worker, 12*second, 30*second, 1).EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due >= 20*second && r.Due < 20010*ms {
				r.Outcome, r.Sent, r.Done = history.TimeoutConnect, math.MaxInt64, math.MinInt64
			}
		}), verdict.Violated, "2 of 12000 requests failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), invariant.NoFailedRequests{})
			if v.Outcome != test.want || !strings.HasPrefix(v.Seen, test.says) {
				t.Errorf("got  %s: %s\nwant %s: %s ...", v.Outcome, v.Seen, test.want, test.says)
			}
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
	says(t, v, verdict.Unknown, "w5 was lost at 20s without a fault (it may come from the busy machine: from 12s to 22s, a task waited")
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
	says(t, judge.Check(burst().Run(), p), verdict.Violated, "more than the victims' share failed at once")
	v := judge.Check(busy(burst(), ht.Worker, 14*second, 20*second, 1).Run(), p)
	says(t, v, verdict.Unknown, "failures may come from the busy machine: from 14s to 20s, a task waited for a processor")
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
	says(t, v, verdict.Unknown, "20 of 20 failures may come from the busy machine: from 12s to 20s")
	numbers(t, v, map[string]float64{"failed": 20, "excused": 20, evidence.BusyNumber: 20})
}
