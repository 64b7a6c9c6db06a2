package invariant_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// tooYoung is a record without a readiness probe in which two pods are deleted at 17 s and end at once, and a new one is offered from
// 19 s on, which answers first at 22 s.
func tooYoung() *ht.Builder {
	b := ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.T > ht.DisturbedAt && (e.Pod != nil || e.Slice != nil)
	})
	for _, n := range []string{"2", "3"} {
		p := ht.ReadyPod("backend-"+n, "w"+n, history.Modified)
		p.Deleting = true
		b.Pod(17*second, p)
	}
	b.Slice(17010*ms, sliceOf(1, 4, 5, 6))
	young := ht.ReadyPod("backend-9", "w2", history.Added)
	young.IP = "10.244.9.9"
	slice := sliceOf(1, 4, 5, 6)
	slice.Endpoints = append(slice.Endpoints, history.Endpoint{IP: young.IP, Pod: young.Name, Node: young.Node, Ready: true, Serving: true})
	b.Pod(18900*ms, young).Slice(19*second, slice)
	return pods(b, history.Lifecycle{}).EditRequests(func(r *history.Request) {
		if r.Due >= 17*second && (r.Pod == "backend-2" || r.Pod == "backend-3" || r.Pod == ht.Replacement) {
			r.Pod, r.Node = "backend-1", "w1"
			if r.Due >= 22*second {
				r.Pod, r.Node = "backend-9", "w2"
			}
		}
	})
}

// Two pods whose endpoints have been gone for two seconds outnumber one that is offered and does not listen. It is the one that
// proxies send to.
func TestAProxySendsToWhatIsOffered(t *testing.T) {
	for name, s := range map[string]struct {
		from history.Offset
		want attribution.Cause
	}{
		"just withdrawn":                     {17500 * ms, attribution.CauseLateEndpoint},
		"withdrawn, and nobody new":          {18500 * ms, attribution.CauseLateEndpoint},
		"withdrawn, and one that is offered": {19200 * ms, attribution.CauseReadyTooEarly},
	} {
		v := judge.Check(astray(tooYoung(), s.from, s.from+100*ms, history.Refused).Run(), invariant.NoFailedRequests{})
		if got := slices.Collect(maps.Keys(causesIn(v))); len(got) != 1 || got[0] != string(s.want) {
			t.Errorf("%s: %v, want %s: %q", name, got, s.want, v.Evidence)
		}
	}
}

// Proxies are late only when there was something to follow for longer than they take: not when the endpoint was there all the time,
// or was taken away late.
func TestProxiesAreNotBlamedForEndpoints(t *testing.T) {
	at := ht.EvictedAt
	ends := func() *ht.Builder {
		return pods(ht.Healthy(), history.Lifecycle{Readiness: true, PreStop: 3 * time.Second, Grace: 30 * time.Second})
	}
	withdrawn := func(when history.Offset) *ht.Builder {
		first := true
		return ends().EditEvents(func(e *history.Event) {
			if e.Slice != nil && e.T > at && first {
				e.T, first = when, false
			}
		})
	}
	for name, s := range map[string]struct {
		run  *ht.Builder
		want string
	}{
		"at once":       {withdrawn(at + 10*ms), "late-withdrawal"},
		"2 s later":     {withdrawn(at + 2*second), "late-endpoint"},
		"after the end": {withdrawn(at + 3500*ms), "late-endpoint"},
	} {
		v := judge.Check(astray(s.run, at+3100*ms, at+3400*ms, history.Refused).Run(), invariant.NoFailedRequests{})
		if diff := cmp.Diff(map[string]float64{s.want: 60}, causesIn(v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s%q", name, diff, v.Evidence)
		}
	}
}

// What is cut at SIGTERM and what is cut at SIGKILL lie as near to each other as the grace period leaves them.
func TestCutsByGracePeriod(t *testing.T) {
	for _, s := range []struct {
		grace, preStop, cut history.Offset
		want                string
	}{
		{30 * second, 3 * second, 3100 * ms, "cut-at-sigterm"},
		{30 * second, 3 * second, 5400 * ms, "cut-at-sigterm"},
		{30 * second, 3 * second, 11 * second, "cut-at-end"},
		{12 * second, 3 * second, 11900 * ms, "cut-at-end"},
		{5 * second, 3 * second, 3100 * ms, "cut-at-sigterm"},
		{5 * second, 3 * second, 3800 * ms, "cut-at-sigterm"},
		{5 * second, 3 * second, 4950 * ms, "cut-at-end"},
		{3 * second, 5 * second, 3100 * ms, "cut-at-sigterm"}, // the hook has used it up, and 2 s are left
		{3 * second, 5 * second, 4950 * ms, "cut-at-end"},
		{0, 3 * second, 4 * second, "cut-at-sigterm"}, // of an old record
	} {
		run := cutOff(pods(ht.Healthy(), history.Lifecycle{Readiness: true, PreStop: s.preStop, Grace: s.grace}),
			ht.EvictedAt+s.cut, ht.EvictedAt+s.cut+50*ms)
		v := judge.Check(run.Run(), invariant.NoFailedRequests{})
		if diff := cmp.Diff(map[string]float64{s.want: 10}, causesIn(v)); diff != "" {
			t.Errorf("grace %s, preStop %s, cut after %s (-want +got):\n%s", s.grace, s.preStop, s.cut, diff)
		}
	}
}
