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

// sampled makes a record one that has the harness's own samples, and gives it those between two moments: every second, of a process
// that stood still for 3 ms at most, and whose changes came back after 40 ms.
func sampled(b *ht.Builder, from, to history.Offset) *ht.Builder {
	b.Header(func(h *history.Header) { h.Samples = history.SamplesOfItself })
	for at := from; at < to; at += second {
		b.Event(history.Event{T: at + second, Noise: &history.Noise{Of: history.NoiseHarness, Since: at, Pause: 3 * ms}})
		b.Event(history.Event{T: at + 40*ms, Echo: &history.Echo{Sent: at, Taken: 30 * ms}})
	}
	return b
}

// TestAHarnessThatIsSilentIsNotQuiet: a record that ought to have samples of the harness proves nothing where they are missing,
// whoever took them out. One that is older than they are keeps its verdict.
func TestAHarnessThatIsSilentIsNotQuiet(t *testing.T) {
	full := func() *ht.Builder { return sampled(ht.Healthy(), 2*second, 40*second) }
	without := func(drop func(history.Event) bool) *ht.Builder { return full().DropEvents(drop) }
	between := func(e history.Event, from, to history.Offset) bool { return e.T > from && e.T <= to }
	for name, test := range map[string]struct {
		run  *ht.Builder
		want verdict.Outcome
		says string
	}{
		"an older record": {ht.Healthy(), verdict.Held, ""},
		"all samples":     {full(), verdict.Held, ""},
		"two that are missing": {without(func(e history.Event) bool { return e.Noise != nil && between(e, 20*second, 22*second) }),
			verdict.Held, ""},
		"no sample at all": {without(func(e history.Event) bool { return e.Noise != nil }), verdict.Unknown,
			"no verdict: the harness took no samples of itself for 3"},
		"four that are missing": {without(func(e history.Event) bool { return e.Noise != nil && between(e, 20*second, 24*second) }),
			verdict.Unknown, "no verdict: the harness took no samples of itself for 4s from 20s, so how late it recorded events is unknown"},
		"a recorder that was away": {without(func(e history.Event) bool { return e.Noise != nil && between(e, 20*second, 24*second) }).
			Event(history.Event{T: 24 * second, Resumed: &history.Resumed{Since: 20 * second}}), verdict.Unknown,
			"no verdict: no recorder ran for 4s from 20s, so what happened then is unknown"},
		"none at the end": {without(func(e history.Event) bool { return e.Noise != nil && e.T > 30*second }), verdict.Unknown,
			"no verdict: the harness took no samples of itself for 10s from 30s, so how late it recorded events is unknown"},
		"those of a worker alone": {without(func(history.Event) bool { return false }).EditEvents(func(e *history.Event) {
			if e.Noise != nil {
				e.Noise.Of = ht.Worker
			}
		}), verdict.Unknown, "no verdict: the harness took no samples of itself for 3"},
		"no echo at all": {without(func(e history.Event) bool { return e.Echo != nil }), verdict.Unknown,
			"no verdict: the harness saw none of its own changes, done or failed, for 3"},
		"calls that failed for a while": {without(func(e history.Event) bool { return e.Echo != nil && between(e, 20*second, 26*second) }).
			Event(history.Event{T: 25 * second, Echo: &history.Echo{Sent: 20 * second, Error: "refused"}}), verdict.Held, ""},
	} {
		t.Run(name, func(t *testing.T) {
			promises := []invariant.Invariant{
				invariant.NoFailedRequests{}, invariant.BudgetHonoured{}, invariant.QuietWithin{Limit: 3 * second}, invariant.DrainCompletes{},
			}
			for _, v := range judge.CheckAll(test.run.Run(), promises) {
				if v.Outcome != test.want || !strings.HasPrefix(v.Seen, test.says) {
					t.Errorf("%s: got  %s: %s\nwant %s: %s ...", v.Kind, v.Outcome, v.Seen, test.want, test.says)
				}
			}
		})
	}
}
