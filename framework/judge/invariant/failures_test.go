package invariant_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// failing is a healthy record of which the fresh requests from 17 s on fail, each as edit says.
func failing(n uint64, edit func(i uint64, r *history.Request)) verdict.Verdict {
	const first = 1400 // is due at 17 s
	run := ht.Healthy().EditRequests(func(r *history.Request) {
		if i := r.Seq - first; r.Lane == history.LaneFresh && r.Seq >= first && i < n {
			r.Outcome = history.Reset
			edit(i, r)
		}
	}).Run()
	return judge.Check(run, invariant.NoFailedRequests{})
}

// TestServersOfFailures: what is known of who answered, or would have, is told, and no more.
func TestServersOfFailures(t *testing.T) {
	for _, s := range []struct {
		pod, node string
		inferred  bool
		outcome   history.Outcome
		want      string
	}{
		{"backend-2", "w2", false, history.Truncated, "backend-2 on w2"},
		{"backend-2", "w2", true, history.Reset, "backend-2 on w2 (inferred)"},
		{"backend-2", "", false, history.BadStatus, "backend-2"},
		{"", "w2", true, history.Refused, "a pod on w2 (inferred)"},
		{"", "", false, history.TimeoutConnect, "unknown server"},
		{"", "", true, history.TimeoutConnect, "unknown server"},
		{"backend-2", "w2", false, history.Masked, "by backend-2 on w2"},
		{"backend-2", "w2", true, history.Masked, "backend-2 on w2 (inferred)"},
	} {
		v := failing(1, func(_ uint64, r *history.Request) {
			r.Pod, r.Node, r.Inferred, r.Outcome = s.pod, s.node, s.inferred, s.outcome
		})
		want := fmt.Sprintf("1 of 12000 requests failed (1 on fresh, 0 on reused), the first at 17s: %s, %s", s.outcome, s.want)
		if v.Seen != want {
			t.Errorf("%s\nwant %s", v.Seen, want)
		}
	}
}

// TestLinesOfFailures: the most frequent first, ties by name, so that the same record always reads the same; a server
// alone at the end is named rather than counted.
func TestLinesOfFailures(t *testing.T) {
	outcomes := []history.Outcome{history.Reset, history.Refused, history.Reset, history.GoAway, history.Refused}
	servers := func(n uint64) verdict.Verdict {
		return failing(5, func(i uint64, r *history.Request) {
			r.Outcome, r.Pod, r.Node, r.Inferred = outcomes[i], fmt.Sprint("pod-", 9-i%n), "", false
		})
	}
	lines(t, servers(4))
	lines(t, servers(5))
}

// TestMomentsOfFailures lays failures to the stages of the fault, each to the last before it.
func TestMomentsOfFailures(t *testing.T) {
	b := ht.Healthy()
	for _, at := range []history.Offset{ht.InjectingAt, ht.SeenAt - 5*ms, ht.SeenAt, 29 * second, ht.HealingAt + ms*500, 36 * second} {
		b.Fail(history.LaneReused, at, at+5*ms, history.Other)
	}
	v := judge.Check(b.Run(), invariant.NoFailedRequests{})
	want := []string{
		"2 after drain one worker began at 15.5s, the first 0s later",
		"2 after drain one worker was seen to take effect at 16s, the first 0s later",
		"1 after drain one worker began to be reverted at 30s, the first 500ms later",
		"1 after drain one worker was healed at 31s, the first 5s later",
	}
	from := slices.Index(v.Evidence, want[0])
	if from < 0 || len(v.Evidence) < from+len(want) || !slices.Equal(v.Evidence[from:from+len(want)], want) {
		t.Errorf("%q\nwant among them %q", v.Evidence, want)
	}
}

// TestManyKindsOfFailures: what is told apart is bounded, what is counted is not.
func TestManyKindsOfFailures(t *testing.T) {
	v := failing(4500, func(i uint64, r *history.Request) { r.Pod, r.Node = fmt.Sprint("pod-", i), "" })
	if want := "4500 of 12000 requests failed (4500 on fresh, 0 on reused), the first at 17s: reset, pod-0"; v.Seen != want {
		t.Errorf("%s\nwant %s", v.Seen, want)
	}
	if !slices.Contains(v.Evidence, "fresh: 4500 of 6000 failed: 4500 reset") || !slices.Contains(v.Evidence, "unknown server: 404 reset") {
		t.Errorf("%q", v.Evidence)
	}
}

// TestTheFirstFailureIsTheFirstSent: rows lie in the order in which requests ended.
func TestTheFirstFailureIsTheFirstSent(t *testing.T) {
	v := failing(3, func(i uint64, r *history.Request) {
		r.Done = r.Sent + second - history.Offset(i)*100*ms
		r.Err = "read: connection reset by peer"
	})
	if v.At != 17*second || !strings.HasPrefix(v.Evidence[0], "17s fresh #1400 of worker-0: reset after 1s, ") ||
		!strings.HasSuffix(v.Evidence[0], ": read: connection reset by peer") {
		t.Errorf("at %s: %q", v.At, v.Evidence[0])
	}
}

// TestControlLane: by itself it is noise, which is told beside failures and breaks no promise; a promise that names it
// is about it.
func TestControlLane(t *testing.T) {
	b := func() *ht.Builder {
		return ht.Healthy().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 17*second, 17100*ms, history.TimeoutResponse)
	}
	named := invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneControl}}

	checkAll(t, []sample{
		{"not named", b(), invariant.NoFailedRequests{}, verdict.Held, 0},
		{"named", b(), named, verdict.Violated, 17 * second},
		{"another is named", b(), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneReused}}, verdict.Held, 0},
		{"late failures elsewhere", b(), invariant.FailuresEndWithin{}, verdict.Held, 0},
		{"named, and outside of any outage", killed().Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt).
			Fail(history.LaneControl, 26*second, 26050*ms, history.Reset), invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneControl}},
			verdict.Violated, 26 * second},
	})
}
