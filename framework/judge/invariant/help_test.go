package invariant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

const (
	second = time.Second
	ms     = time.Millisecond
)

// check judges a record and compares the outcome and the instant, and the sentence with the stored one.
func check(t *testing.T, run history.Run, promise invariant.Invariant, outcome verdict.Outcome, at history.Offset) verdict.Verdict {
	t.Helper()
	got := judge.Check(run, promise)
	judged := judge.CheckAll(run, []invariant.Invariant{promise})[0]
	checkLimits(t, judged)
	if judged.Promise != promise.String() || judged.Kind != invariant.Kind(promise) || judged.Outcome != outcome || judged.At != at {
		t.Errorf("%s is %s at %s, want %s at %s: %s", judged.Kind, judged.Outcome, judged.At, outcome, at, judged.Seen)
	}
	checkSaid(t, judged.Kind, judged.Seen)
	if got.Outcome != judged.Outcome || got.Seen != judged.Seen {
		t.Errorf("judged alone it is %s: %s", got.Outcome, got.Seen)
	}
	if len(judged.Evidence) > verdict.MaxEvidence {
		t.Errorf("%d lines of evidence", len(judged.Evidence))
	}
	return judged
}

// sample is one record and what a promise must say of it.
type sample struct {
	name    string
	run     *ht.Builder
	promise invariant.Invariant
	outcome verdict.Outcome
	at      history.Offset
}

func checkAll(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) { check(t, s.run.Run(), s.promise, s.outcome, s.at) })
	}
}

// outcome compares the outcome of a verdict, and its sentence with the stored one. Rows of a test need names to tell them apart.
func outcome(t *testing.T, v verdict.Verdict, want verdict.Outcome, row ...string) {
	t.Helper()
	if v.Outcome != want {
		t.Errorf("%s %s, want %s: %s %q", row, v.Outcome, want, v.Seen, v.Evidence)
	}
	checkSaid(t, v.Kind, v.Seen, row...)
}

// lines compares a verdict's evidence with the stored lines.
func lines(t *testing.T, v verdict.Verdict) {
	t.Helper()
	checkSaid(t, v.Kind, strings.Join(append([]string{"evidence:"}, v.Evidence...), "\n"))
}

// numbers compares some of a verdict's figures.
func numbers(t *testing.T, v verdict.Verdict, want map[string]float64) {
	t.Helper()
	for name, number := range want {
		if got, ok := v.Numbers[name]; !ok || got < number-1e-9 || got > number+1e-9 {
			t.Errorf("%s is %v (%t), want %v", name, got, ok, number)
		}
	}
}

// When the parts of killed happen.
const (
	killAt    = 15500 * ms
	deadAt    = 16 * second
	noticedAt = 21 * second
	healAt    = 30 * second
)

// killed is the record of a worker that was killed under load: w3 with its pod, one of six. No client was hurt yet.
func killed() *ht.Builder {
	b := ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.Fault != nil || e.Eviction != nil || e.T >= ht.DisturbedAt && (e.Pod != nil || e.Node != nil ||
			e.Slice != nil || e.Workload != nil || e.Budget != nil)
	}).DropRequests(func(history.Request) bool { return true })
	mark := history.FaultMark{Name: "kill one worker", Stage: history.Injecting}
	b.Fault(killAt, mark)
	mark.Stage, mark.Nodes, mark.Pods = history.Seen, []string{"w3"}, []string{"backend-3"}
	b.Fault(deadAt, mark)
	mark.Stage, mark.Nodes, mark.Pods = history.Healing, nil, nil
	b.Fault(healAt, mark)
	mark.Stage = history.Healed
	b.Fault(healAt+2*second, mark)

	node := ht.ReadyNode("w3", "b")
	node.Ready = "Unknown"
	b.Node(noticedAt, node)
	pod := ht.ReadyPod("backend-3", "w3", history.Modified)
	pod.Ready = false
	b.Pod(noticedAt, pod).Workload(noticedAt, ht.BackendWorkload(5, 6)).Slice(noticedAt, sliceOf(1, 2, 4, 5, 6))
	b.Node(healAt+second, ht.ReadyNode("w3", "b"))
	pod.Ready, pod.Restarts = true, 1
	b.Pod(healAt+1500*ms, pod).Workload(healAt+1500*ms, ht.BackendWorkload(6, 6)).Slice(healAt+1500*ms, sliceOf(1, 2, 3, 4, 5, 6))
	b.Load(history.LaneFresh, ht.Rate, ht.SteadyAt, ht.DrainedAt)
	return b.Load(history.LaneReused, ht.Rate, ht.SteadyAt, ht.DrainedAt)
}

// sliceOf has ready endpoints for the pods backend-n, each on wn.
func sliceOf(numbers ...int) history.Slice {
	s := history.Slice{Change: history.Modified, Namespace: ht.Namespace, Name: "backend-abcde", Service: ht.Service}
	for _, n := range numbers {
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Modified)
		s.Endpoints = append(s.Endpoints, history.Endpoint{IP: p.IP, Pod: p.Name, Node: p.Node, Ready: true, Serving: true})
	}
	return s
}

// failVictims fails what w3 would have answered on a lane.
func failVictims(b *ht.Builder, lane history.Lane, from, to history.Offset) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Lane == lane && r.Node == "w3" && r.Due >= from && r.Due < to {
			r.Outcome, r.Status, r.Done, r.Inferred = history.TimeoutConnect, 0, r.Sent+second, true
		}
	})
}

// setStage moves a stage of the fault, or takes it out when at is negative.
func setStage(b *ht.Builder, stage history.FaultStage, at history.Offset) *ht.Builder {
	if at < 0 {
		return b.DropEvents(func(e history.Event) bool { return e.Fault != nil && e.Fault.Stage == stage })
	}
	return b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.Stage == stage {
			e.T = at
		}
	})
}
