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

func TestFewFailedRequests(t *testing.T) {
	few := func(n int) invariant.FewFailedRequests { return invariant.FewFailedRequests{AtMost: n} }
	share := func(s float64) invariant.FewFailedRequests { return invariant.FewFailedRequests{Share: s} }
	fresh := invariant.FewFailedRequests{Lanes: []history.Lane{history.LaneFresh}, AtMost: 20}
	lost := func() *ht.Builder { return ht.Healthy().Fail(history.LaneFresh, 17*second, 17100*ms, history.Refused) } // 20 requests

	checkAll(t, []sample{
		{"none", ht.Healthy(), few(3), verdict.Held, 0},
		{"as many as may fail", lost(), few(20), verdict.Held, 0},
		{"one too many", lost(), few(19), verdict.Violated, 17 * second},
		{"the share that may fail", lost(), share(20.0 / 12000), verdict.Held, 0},
		{"a share is rounded down", lost(), share(0.00166), verdict.Violated, 17 * second},
		{"nothing may fail", lost(), few(0), verdict.Violated, 17 * second},
		{"a number below zero allows nothing", lost(), few(-1), verdict.Violated, 17 * second},
		{"a share below zero allows nothing", lost(), share(-0.5), verdict.Violated, 17 * second},
		{"on a lane of its own", lost().Fail(history.LaneReused, 18*second, 18100*ms, history.Reset), fresh, verdict.Held, 0},
		{"lanes are added up", lost().Fail(history.LaneReused, 18*second, 18005*ms, history.Reset), few(20), verdict.Violated, 17 * second},
		{"a masked retry is a failure", ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Seq == 3000 {
				r.Outcome, r.Attempts = history.Masked, 2
			}
		}), few(0), verdict.Violated, 25 * second},
		{"a number that nothing could exceed", lost(), few(12000), verdict.Unknown, 0},
		{"a share of all", ht.Healthy(), share(1), verdict.Unknown, 0},
		{"a share of more than all", ht.Healthy(), share(7), verdict.Unknown, 0},
		{"a lane without requests", ht.Healthy(), invariant.FewFailedRequests{Lanes: []history.Lane{"fresh@web"}, AtMost: 3}, verdict.Unknown, 0},
		{"refused evictions take nothing away", blocked(), few(3), verdict.Unknown, 0},
		{"an incomplete record", ht.Healthy().Incomplete("events.jsonl: cut off"), few(3), verdict.Unknown, 0},
	})
}

// What may be the harness's own noise breaks no promise, and keeps none.
func TestFewFailuresUnderNoise(t *testing.T) {
	run := paused(givenUp(history.TimeoutConnect), 21100*ms, second).Fail(history.LaneReused, 25*second, 25010*ms, history.Refused).Run() // 2 beside 20 of noise
	for most, want := range map[int]verdict.Outcome{1: verdict.Violated, 2: verdict.Unknown, 21: verdict.Unknown, 22: verdict.Held} {
		if v := judge.Check(run, invariant.FewFailedRequests{AtMost: most}); v.Outcome != want {
			t.Errorf("at most %d: %s, want %s: %s", most, v.Outcome, want, v.Seen)
		}
	}
}

// Failures that are allowed are told with their causes, and the limit stands beside the number.
func TestFewFailuresAreTold(t *testing.T) {
	v := judge.Check(ht.Healthy().Fail(history.LaneFresh, 17*second, 17100*ms, history.Refused).Run(), invariant.FewFailedRequests{AtMost: 20})
	checkLimits(t, v)
	numbers(t, v, map[string]float64{"failed": 20, "cause.cut-while-ready": 20})
	if limit := v.Limits["failed"].AtMost; limit == nil || *limit != 20 || v.Kind != "FewFailedRequests" {
		t.Errorf("%s with the limits %+v", v.Kind, v.Limits)
	}
	if text := strings.Join(v.Evidence, "\n"); !strings.Contains(text, "20 of 20: cut, or refused, by a pod that was ready (cut-while-ready)") {
		t.Errorf("evidence\n%s", text)
	}
}

// The scenario that promises it kept it, and one of its mutants broke it, in real records that are older than the promise.
func TestFewFailuresOfRealRecords(t *testing.T) {
	for name, want := range map[string]verdict.Outcome{"kill-one-worker": verdict.Held, "fixed-upstreams": verdict.Violated} {
		_, run := unpackGolden(t, name)
		if v := judge.Check(run, invariant.FewFailedRequests{Share: 0.1}); v.Outcome != want {
			t.Errorf("%s: %s, want %s: %s", name, v.Outcome, want, v.Seen)
		}
	}
}
