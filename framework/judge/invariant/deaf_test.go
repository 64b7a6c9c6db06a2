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

// TestCausesWithoutEvents: a kubelet says in a Kubernetes Event that it evicts a pod. Where the watch of events was blind, the
// evidence of a failure says that such a word may be missing.
func TestCausesWithoutEvents(t *testing.T) {
	const lost = "; what Kubernetes said of it may be lost, as the watch of events was blind"
	at := ht.EvictedAt
	failing := func() *ht.Builder {
		return astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+400*ms, history.Refused)
	}
	for what, s := range map[string]struct {
		run  *ht.Builder
		want bool
	}{
		"no gap":          {failing(), false},
		"a gap":           {failing().Gap("events", at-second, at+second), true},
		"a gap elsewhere": {failing().Gap("events", at+8*second, at+9*second), false},
	} {
		v := judge.Check(s.run.Run(), invariant.NoFailedRequests{})
		if got := strings.Contains(strings.Join(v.Evidence, "\n"), lost); got != s.want || v.Outcome != verdict.Violated {
			t.Errorf("%s: %s %q", what, v.Outcome, v.Evidence)
		}
	}
}
