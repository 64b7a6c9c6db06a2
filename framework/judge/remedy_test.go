package judge_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func broken(kind string, numbers map[string]float64) verdict.Verdict {
	return verdict.Verdict{Kind: kind, Outcome: verdict.Violated, Numbers: numbers}
}

func TestRemediesTakeAwayTheCauseThatWasSeen(t *testing.T) {
	sleep := history.Finding{Rule: "no-prestop", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	grace := history.Finding{Rule: "short-grace-period", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	field := history.Finding{Rule: "offers-unready-pods", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	second := history.Finding{Rule: "single-replica", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	rolling := history.Finding{Rule: "recreates-all-pods", Commands: []string{"kubectl patch ..."}, Fix: json.RawMessage(`[{"do":"patch"}]`)}
	noFix := history.Finding{Rule: "no-readiness-probe"}
	unrelated := history.Finding{Rule: "no-budget", Commands: []string{"kubectl create ..."}, Fix: json.RawMessage(`[{"do":"create"}]`)}
	requests := invariant.Kind(invariant.NoFailedRequests{})
	stuck := invariant.Kind(invariant.RolloutCompletes{})
	for name, test := range map[string]struct {
		found []history.Finding
		of    verdict.Verdict
		want  []string
	}{
		"a fix of the audit": {
			[]history.Finding{unrelated, sleep}, broken(requests, map[string]float64{"cause.late-endpoint": 7}), []string{"no-prestop: requests were sent to"},
		},
		"one fix for two causes": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.late-endpoint": 7, "cause.cut-at-end": 1}), []string{"no-prestop"},
		},
		"advice where the audit has no fix": {
			[]history.Finding{noFix}, broken(requests, map[string]float64{"cause.ready-too-early": 3}), []string{"give the container a readiness probe"},
		},
		"a drain that was blocked": {
			[]history.Finding{{Rule: "budget-blocks-drains", Commands: []string{"x"}, Fix: json.RawMessage(`[{}]`)}},
			broken(invariant.Kind(invariant.DrainCompletes{}), nil), []string{"budget-blocks-drains: a drain left pods on its node"},
		},
		"a cause that two rules take away": {
			[]history.Finding{sleep, grace}, broken(requests, map[string]float64{"cause.cut-at-sigterm": 2}), []string{"no-prestop: ", "short-grace-period: "},
		},
		"what is cut on kept connections": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.cut-at-sigterm": 2, "causeOnKept.cut-at-sigterm": 2}), []string{"SIGTERM: let the server finish its requests at SIGTERM"},
		},
		"what is cut at the end on kept connections": {
			[]history.Finding{sleep, grace}, broken(requests, map[string]float64{"cause.cut-at-end": 3, "causeOnKept.cut-at-end": 3}), []string{"end: let the server ask its clients to leave", "short-grace-period: "},
		},
		"bad answers on kept connections": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.bad-answer-while-ending": 3, "causeOnKept.bad-answer-while-ending": 3}), []string{"told to end: let the server go on answering well until it ends"},
		},
		"what is cut on both kinds of connections": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.cut-at-sigterm": 5, "causeOnKept.cut-at-sigterm": 2}), []string{"no-prestop: ", "SIGTERM: let the server finish its requests at SIGTERM"},
		},
		"the same advice once": {
			[]history.Finding{{Rule: "no-prestop"}}, broken(requests, map[string]float64{"cause.cut-at-sigterm": 5, "causeOnKept.cut-at-sigterm": 2}), []string{"SIGTERM: let the server finish its requests at SIGTERM"},
		},
		"a server that was killed":       {[]history.Finding{sleep, grace}, broken(requests, map[string]float64{"cause.killed": 2}), []string{"short-grace-period: "}},
		"a pod that only has the labels": {[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.foreign-pod": 2}), []string{"let the Service select a label that only"}},
		"no hook is too long":            {[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.cut-at-end": 2}), []string{"no-prestop: "}},
		"a Service that offers pods":     {[]history.Finding{sleep, field}, broken(requests, map[string]float64{"cause.offered-unready": 2}), []string{"offers-unready-pods: "}},
		"pods that ask what all share": {
			[]history.Finding{sleep, second}, broken(requests, map[string]float64{"cause.outage-unready": 9}),
			[]string{"let the readiness probe ask only what belongs to its own pod", "single-replica: no endpoint was left"},
		},
		"pods that ask what has two replicas": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.outage-unready": 9}),
			[]string{"let the readiness probe ask only", "or run a second replica of what it asks"},
		},
		"a sidecar that outlives the application": {
			[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.app-ended-first": 9, "cause.bad-answer-while-ending": 1}), []string{"no-prestop: requests were answered wrongly"},
		},
		"pods that are all replaced at once": {
			[]history.Finding{sleep, rolling}, broken(requests, map[string]float64{"cause.outage-deletion": 9}), []string{"recreates-all-pods: no endpoint was left"},
		},
		"a single pod that is replaced in place": {
			[]history.Finding{second, rolling}, broken(requests, map[string]float64{"cause.outage-deletion": 9}), []string{"recreates-all-pods: ", "single-replica: "},
		},
		"pods that cannot run side by side": {
			[]history.Finding{{Rule: "recreates-all-pods"}}, broken(requests, map[string]float64{"cause.outage-deletion": 9}), []string{"let a rollout start new pods before it ends old ones"},
		},
		"a single pod": {
			[]history.Finding{second}, broken(requests, map[string]float64{"cause.outage-deletion": 9}), []string{"single-replica: "},
		},
		"a rollout without room": {
			[]history.Finding{{Rule: "no-room-to-surge", Commands: []string{"x"}, Fix: json.RawMessage(`[{}]`)}},
			broken(stuck, map[string]float64{invariant.NoRoomNumber: 1}), []string{"no-room-to-surge: a rollout did not come to its end, because"},
		},
		"a rollout without room in a quota that the audit has seen": {
			[]history.Finding{{Rule: "quota-stops-rollout", Commands: []string{"x"}, Fix: json.RawMessage(`[{}]`)}},
			broken(stuck, map[string]float64{invariant.NoRoomNumber: 1}), []string{"quota-stops-rollout: a rollout did not come to its end, because"},
		},
		"a rollout without room in a quota": {
			[]history.Finding{sleep}, broken(stuck, map[string]float64{invariant.NoRoomNumber: 1}), []string{"has no place: let a rollout end an old pod before it starts a new one"},
		},
		"a rollout whose pods do not start": {
			[]history.Finding{{Rule: "no-room-to-surge", Commands: []string{"x"}, Fix: json.RawMessage(`[{}]`)}}, broken(stuck, nil),
			[]string{"a rollout did not come to its end: mend what Kubernetes says"},
		},
		"nothing for a cause without a remedy": {[]history.Finding{sleep}, broken(requests, map[string]float64{"cause.bad-answer": 3}), nil},
		"nothing for what held":                {[]history.Finding{sleep}, verdict.Verdict{Outcome: verdict.Held, Numbers: map[string]float64{"cause.late-endpoint": 1}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			run := history.Run{Events: []history.Event{{Audit: &history.Audit{Workload: "web", Findings: test.found}}}}
			got := judge.Remedies(run, []verdict.Verdict{test.of})
			if len(got) != len(test.want) {
				t.Fatalf("remedies %v, want %d", got, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(got[i].String(), want) {
					t.Errorf("remedy %q, want %q in it", got[i], want)
				}
			}
		})
	}
}

// Scenarios of holdfast's own record no audit of their workload. They prove a practice by a mutant, and name no remedy.
func TestARecordWithoutAnAuditHasNoRemedies(t *testing.T) {
	of := broken(invariant.Kind(invariant.NoFailedRequests{}), map[string]float64{"cause.late-endpoint": 7})
	if got := judge.Remedies(history.Run{}, []verdict.Verdict{of}); got != nil {
		t.Errorf("remedies %v", got)
	}
}

func TestFixesOfSeveralRemediesAreOneList(t *testing.T) {
	steps, rules := judge.Fixes([]judge.Remedy{
		{Rule: "a", Fix: json.RawMessage(`[{"do":"patch"},{"do":"create"}]`)}, {Why: "advice"}, {Rule: "b", Fix: json.RawMessage(`[{"do":"restart"}]`)},
	})
	if len(steps) != 3 || len(rules) != 2 {
		t.Errorf("%d steps of %v, want 3 of a and b", len(steps), rules)
	}
}

func TestHowFarARemedyIsToBeTrusted(t *testing.T) {
	fix := judge.Remedy{Rule: "no-prestop", Fix: json.RawMessage(`[{}]`)}
	advice := judge.Remedy{Why: "let it finish"}
	before := judge.Tried{Outcome: verdict.Violated, Remedies: []judge.Remedy{fix, advice}}
	proven := before.Prove(judge.Tried{Outcome: verdict.Held})
	var got []string
	for _, r := range []judge.Remedy{fix, advice, proven[0], proven[1]} {
		got = append(got, r.Title())
	}
	want := []string{"remedy, not tried", "advice", "remedy, tried (cured by no-prestop, as far as one run shows)", "advice"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if nothing := (judge.Tried{Remedies: []judge.Remedy{advice}}).Prove(judge.Tried{}); nothing[0].Proof != "" {
		t.Errorf("without a fix, proven: %q", nothing[0].Proof)
	}
}
