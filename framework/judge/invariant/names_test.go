package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// TestNamesOfClusters: the cluster's name is left out at the beginning of a node's name, and nowhere else, whatever
// somebody calls a cluster.
func TestNamesOfClusters(t *testing.T) {
	for name, want := range map[string]string{
		"":          "backend-2 on end-w2",
		"end":       "backend-2 on w2",
		"backend":   "2 on end-w2", // what cannot be told apart
		"e":         "backend-2 on end-w2",
		"d":         "backend-2 on end-w2",
		"w2":        "backend-2 on end-w2",
		"e.d":       "backend-2 on end-w2", // a dot is a dot
		"end-w2(":   "backend-2 on end-w2",
		"something": "backend-2 on end-w2",
	} {
		run := ht.Healthy().Header(func(h *history.Header) { h.Cluster.Name = name }).
			Fail(history.LaneFresh, 17*second, 17005*ms, history.Refused).
			EditRequests(func(r *history.Request) { r.Node = "end-" + r.Node }).Run()
		v := judge.Check(run, invariant.NoFailedRequests{})
		if got := "1 of 12000 requests failed (1 on fresh, 0 on reused), the first at 17s: refused, " + want + " (inferred)"; v.Seen != got {
			t.Errorf("cluster %q: %s\nwant %s", name, v.Seen, got)
		}
		if got := "17s fresh #1400 of worker-0: refused after 2ms, " + want + " (inferred)"; v.Evidence[0] != got {
			t.Errorf("cluster %q: %s\nwant %s", name, v.Evidence[0], got)
		}
	}
}

// TestDeploymentWithoutAName: a record may hold one. It is judged, or not, like any other.
func TestDeploymentWithoutAName(t *testing.T) {
	run := ht.Healthy().EditEvents(func(e *history.Event) {
		if e.Workload != nil {
			e.Workload.Name = ""
		}
	}).Run()
	for _, v := range judge.CheckAll(run, strict()) {
		if v.Seen == "" {
			t.Errorf("%s says nothing", v.Kind)
		}
	}
}

// TestRecordWithoutRequests: a scenario without traffic has none, and promises about events do not need any.
func TestRecordWithoutRequests(t *testing.T) {
	run := ht.Healthy().Run()
	run.Requests = nil
	for _, v := range judge.CheckAll(run, everything()) {
		want := verdict.Held
		if v.Kind == "NoFailedRequests" || v.Kind == "FailuresEndWithin" {
			want = verdict.Unknown
		}
		if v.Outcome != want {
			t.Errorf("%s is %s: %s", v.Kind, v.Outcome, v.Seen)
		}
	}
}

// TestTwoNamespaces: budgets of one name in two namespaces are two, and are told of in the same order every time.
func TestTwoNamespaces(t *testing.T) {
	b := demanding(thin(ht.Healthy()), "many", "")
	other := ht.BackendBudget(6, 1)
	other.Namespace, other.MaxUnavailable = "another", "most"
	b.Budget(3*second, other)
	run := b.Run()
	for range 30 { // which the order of a map would not survive
		v := judge.Check(run, invariant.BudgetHonoured{})
		lines(t, v)
		if t.Failed() {
			return
		}
	}
}
