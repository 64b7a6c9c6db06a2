package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// busy adds samples of a part of the harness, once a second, on whose machine some task waited for a processor for a share of the time.
func busy(b *ht.Builder, of string, from, to history.Offset, share float64) *ht.Builder {
	for at := from + second; at <= to; at += second {
		heard(b, at, history.Noise{Of: of, Waits: history.Waits{CPU: share}})
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
		because = "; it may be the harness's own noise: "
		waits   = " of that time a task waited for a processor of the machine that all nodes share"
	)
	one := func() *ht.Builder { return slowed(watched(), fresh, 17*second, 17005*ms, 2900*ms) } // from 17 s to 19.9 s
	share := func() *ht.Builder { return slowed(watched(), fresh, 18*second, 19*second, 1500*ms) }
	checkAll(t, []sample{
		{"all the while", busy(one(), worker, 16*second, 21*second, 0.97), all, verdict.Unknown, 0, unknown + oneSlow + because + "97 %" + waits},
		{"on the machine of the harness, which may be another", busy(one(), history.NoiseHarness, 16*second, 21*second, 0.97), all, verdict.Violated,
			17 * second, oneSlow + ", sent at 17s"},
		{"not quite", busy(one(), worker, 16*second, 21*second, 0.94), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"for two seconds of three", busy(one(), worker, 18*second, 21*second, 1), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"half the time, told twice", busy(busy(one(), worker, 16*second, 21*second, 0.5), worker, 16*second, 21*second, 0.5), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"half the time, told by two", busy(busy(one(), worker, 16*second, 21*second, 0.5), "load-1", 16*second, 21*second, 0.5), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"a share that no kernel tells", busy(one(), worker, 16*second, 18*second, 9), all, verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"nodes have machines of their own", busy(one(), worker, 16*second, 21*second, 1).Header(func(h *history.Header) { h.Cluster.Provider = "existing" }), all,
			verdict.Violated, 17 * second, oneSlow + ", sent at 17s"},
		{"one of a hundred", busy(share(), worker, 17*second, 21*second, 1), all, verdict.Unknown, 0, unknown + many + because +
			"without the answers during which a task nearly always waited for a processor of the machine that all nodes share, it took 2ms"},
		{"one of a hundred, also at another time", busy(slowed(share(), fresh, 22*second, 22800*ms, 1500*ms), worker, 17*second, 21*second, 1), all,
			verdict.Violated, 18 * second, many + ", sent at 18s"},
		{"another answer at another time", busy(slowed(one(), fresh, 23*second, 23005*ms, 2500*ms), worker, 16*second, 21*second, 1), all, verdict.Violated,
			23 * second, "the slowest answer on fresh took 2.5s; before the first fault began it was 2ms, and 2s more is allowed, sent at 23s"},
		{"busy, and nothing is slow", busy(watched(), worker, 16*second, 36*second, 1), all, verdict.Held, 0,
			"the slowest answer took 2ms on fresh, and 2ms before the first fault began; 99 of 100 took at most 2ms on fresh, and 2ms before, " +
				"through 1 pod termination and 0 node losses" + noneMissed},
	})
}
