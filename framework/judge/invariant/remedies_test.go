package invariant_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// remediesOf are those of a record whose workload has no preStop hook, as the audit finds it.
func remediesOf(run history.Run, verdicts []verdict.Verdict) (all []string) {
	sleep := history.Finding{Rule: "no-prestop", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	run.Events = append(slices.Clone(run.Events), history.Event{Audit: &history.Audit{Workload: "backend", Findings: []history.Finding{sleep}}})
	for _, r := range judge.Remedies(run, verdicts) {
		all = append(all, r.String())
	}
	return all
}

// TestASleepIsNoRemedyForKeptConnections: a mutant has a preStop sleep, and loses requests on kept connections all the same.
func TestASleepIsNoRemedyForKeptConnections(t *testing.T) {
	_, run := unpackGolden(t, "drops-at-sigterm")
	if all := strings.Join(remediesOf(run, judge.Judge(run)), "\n"); !strings.Contains(all, "let the server finish its requests") || strings.Contains(all, "no-prestop") {
		t.Errorf("a real record: %s", all)
	}
	// On new connections, what is in flight at SIGTERM has come since the pod was told to end: while a hook sleeps, nothing new does.
	cut := func(lane history.Lane) string {
		b := pods(ht.Healthy(), history.Lifecycle{Readiness: true}).EditRequests(func(r *history.Request) {
			if r.Lane == lane && r.Due >= ht.EvictedAt && r.Due < ht.EvictedAt+50*ms {
				r.Pod, r.Node, r.Outcome, r.Status = ht.Victim, ht.DrainedNode, history.Reset, 0
			}
		})
		return strings.Join(remediesOf(b.Run(), []verdict.Verdict{judge.Check(b.Run(), invariant.NoFailedRequests{})}), "\n")
	}
	if fresh, kept := cut(history.LaneFresh), cut(history.LaneReused); !strings.HasPrefix(fresh, "no-prestop: ") || strings.Contains(kept, "no-prestop") || kept == "" {
		t.Errorf("fresh: %s\nkept: %s", fresh, kept)
	}
}
