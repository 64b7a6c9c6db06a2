package invariant_test

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestWorkersOnSeveralNodes: where load workers ran on several nodes, the verdict says what each of them saw.
func TestWorkersOnSeveralNodes(t *testing.T) {
	const line = "failed by load worker: 0 of 6000 from the-load-node (worker-0), 0 of 6000 from w5 (worker-1)"
	two := func() *ht.Builder {
		b := ht.Healthy().EditRequests(func(r *history.Request) {
			r.Worker = []string{"worker-0", "worker-1"}[r.Seq%2]
			r.Seq /= 2
		})
		for i, node := range []string{"the-load-node", "w5"} {
			pod := ht.ReadyPod([]string{"worker-0", "worker-1"}[i], node, history.Listed)
			pod.Labels = nil
			b.Pod(3*second, pod)
		}
		return b
	}
	v := judge.Check(two().Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held || !slices.Contains(v.Evidence, line) {
		t.Errorf("%s: %s %q, want %q", v.Outcome, v.Seen, v.Evidence, line)
	}
	v = judge.Check(two().EditRequests(func(r *history.Request) {
		if r.Worker == "worker-1" && r.Due >= 17*second && r.Due < 18*second {
			r.Outcome, r.Status, r.Inferred = history.Refused, 0, true
		}
	}).Run(), invariant.NoFailedRequests{})

	const bad = "failed by load worker: 0 of 6000 from the-load-node (worker-0), 200 of 6000 from w5 (worker-1)"
	if v.Outcome != verdict.Violated || !slices.Contains(v.Evidence, bad) {
		t.Errorf("%s: %s %q, want %q", v.Outcome, v.Seen, v.Evidence, bad)
	}
	// The other worker goes on, so that the lane has requests all the time.
	v = judge.Check(two().EditRequests(func(r *history.Request) {
		if r.Worker == "worker-1" && r.Due >= 17*second && r.Due < 17900*ms {
			r.Sent = 17900 * ms
			r.Done = max(r.Done, r.Sent+ht.Latency)
		}
	}).Run(), invariant.NoFailedRequests{})

	if v.Outcome != verdict.Unknown {
		t.Errorf("one worker stood still for 0.9 s: %s: %s", v.Outcome, v.Seen)
	}
}
