package invariant_test

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// audited adds looks at backend to a record, from 16 s on, one each second: the rules that found something, each time.
func audited(looks ...[]string) *ht.Builder {
	b := ht.Healthy()
	for i, rules := range looks {
		a := &history.Audit{Namespace: ht.Namespace, Workload: "backend", Findings: []history.Finding{}}
		for _, rule := range rules {
			a.Findings = append(a.Findings, history.Finding{Rule: rule, Evidence: "seen of " + rule})
		}
		b.Event(history.Event{T: history.Offset(16+i) * second, Audit: a})
	}
	return b
}

func TestAuditMends(t *testing.T) {
	none := []string{}
	both := []string{"no-budget", "no-prestop"}
	promise := invariant.AuditMends{Rules: []string{"no-prestop", "no-budget"}}
	checkAll(t, []sample{
		{"held", audited(both, both[1:], none), promise, verdict.Held, 0},
		{"more was found, and mended", audited(append(both, "one-node"), none), promise, verdict.Held, 0},
		{"one was left", audited(both, both[1:]), promise, verdict.Violated, 17 * second},
		{"a patch made something else wrong", audited(both, []string{"short-grace-period"}), promise, verdict.Violated, 17 * second},
		{"one was not found", audited(both[:1], none), promise, verdict.Violated, 16 * second},
		{"nothing was found", audited(none, none), promise, verdict.Violated, 16 * second},
		{"one look", audited(both), promise, verdict.Unknown, 0},
		{"no look", ht.Healthy(), promise, verdict.Unknown, 0},
		{"another workload's", audited(both, none).EditEvents(func(e *history.Event) {
			if e.Audit != nil {
				e.Audit.Workload = "other"
			}
		}), promise, verdict.Unknown, 0},
		{"not all was checked", audited(both, none).EditEvents(func(e *history.Event) {
			if e.Audit != nil {
				e.Audit.NotChecked = []string{"one-node: pods is forbidden"}
			}
		}), promise, verdict.Unknown, 0},
		{"no rule is named", audited(both, none), invariant.AuditMends{}, verdict.Unknown, 0},
		{"no such workload", audited(both, none), invariant.AuditMends{Workload: "other"}, verdict.Unknown, 0},
		{"the fault was not seen", setStage(audited(both, none), history.Seen, -1), promise, verdict.Unknown, 0},
	})
	v := judge.Check(audited(both, none).Run(), promise)
	lines(t, v)
	numbers(t, v, map[string]float64{"audits": 2, "found": 2, "left": 0})
}
