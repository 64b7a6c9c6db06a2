// Package reporttest has reports and stored runs for the tests of what is written from them, and checks pages with a parser and in a browser.
package reporttest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

// Sample is a run with a scenario of every kind that a report must be able to show. It is made once: do not change it.
var Sample = sync.OnceValue(NewSample)

// NewSample is a Sample that may be changed.
func NewSample() reports.Report {
	m := reports.Report{
		RunID: "20260102-030405-sample", Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: reports.Seconds(9*time.Minute + 41*sec),
		Holdfast: "v0.1.0", Seed: 4711, Profile: "lab", Reproduce: "holdfast run --seed 4711 --profile short",
		Cluster: reports.Describe(historytest.New().Run(), nil).Cluster,
		Incident: &history.Incident{
			Name: "it-went-out", Story: "Two nodes were drained.", Symptom: "Requests failed.", Cause: "No budget.", Fix: "A budget.",
		},
		Scenarios: []reports.Scenario{
			drained(), nodeKilled(), rolledOut(), starved(), placed(), cutOff(), dropsAtSIGTERM(), missed(),
		},
	}
	for i := range m.Scenarios {
		m.Scenarios[i].Reproduce = "holdfast run --seed 4711 " + m.Scenarios[i].Name
	}
	return m.Completed()
}

// Named gives a record another scenario and claim.
func Named(b *historytest.Builder, name, claim string) *historytest.Builder {
	return b.Header(func(h *history.Header) { h.Scenario, h.Claim = name, claim })
}

// jitter gives requests latencies that differ, the same ones every time.
func jitter(b *historytest.Builder) *historytest.Builder {
	b.EditRequests(func(r *history.Request) {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, r.Lane, r.Seq) // never fails
		x := rand.New(rand.NewPCG(h.Sum64(), 1)).ExpFloat64()
		r.Done = r.Done - historytest.Latency + time.Duration((0.9+x*0.4)*float64(ms)).Truncate(time.Microsecond)
		if r.Lane == history.LaneFresh {
			r.Done += 600 * time.Microsecond
		}
	})
	return b
}

// Held is a verdict that a promise was kept.
func Held(kind, promise, seen string, numbers map[string]float64) verdict.Verdict {
	return verdict.Verdict{Promise: promise, Kind: kind, Outcome: verdict.Held, Seen: seen, Numbers: numbers}
}

func drained() reports.Scenario {
	run := jitter(historytest.Healthy()).Run()
	return reports.Describe(run, []verdict.Verdict{
		Held("NoFailedRequests", "no request fails, on any lane", "0 of 12000 requests failed on lanes fresh and reused",
			map[string]float64{"requests": 12000, "failed": 0, "disruptions": 1, "upperBound": 0.00025}),
		Held("BudgetHonoured", "no eviction takes the healthy pods below the budget",
			"1 eviction accepted with 6 of 6 pods healthy and 5 demanded", map[string]float64{"evictions": 1, "refused": 0}),
		Held("RecoversWithin", "all replicas are available again within 30s of the first eviction",
			"6 of 6 replicas available 2.0s after the eviction", map[string]float64{"recoveredSeconds": 2}),
	})
}

func nodeKilled() reports.Scenario {
	const killed, noticed, back = 15500 * ms, 24 * sec, 44 * sec
	b := Named(historytest.New(), "chaos/kill-one-worker", "killing a worker fails its share of direct traffic for at most 9s")
	b.Header(func(h *history.Header) {
		h.Plan = &history.Plan{Lanes: []history.LanePlan{{Lane: "fresh", Target: "http://backend.holdfast/", RatePerSecond: 200},
			{Lane: "reused", Target: "http://backend.holdfast/", RatePerSecond: 200}}}
	})
	b.Phase(history.Provision, 0).Phase(history.Deploy, 2*sec).Phase(history.Steady, 10*sec).Phase(history.Disturbed, 15*sec)
	b.Phase(history.Recovered, 46*sec).Phase(history.Drained, 52*sec)
	b.Workload(3*sec, historytest.BackendWorkload(6, 6))
	for i := 1; i <= 6; i++ {
		node := fmt.Sprintf("w%d", i)
		b.Node(2*sec, historytest.ReadyNode(node, historytest.ZoneOf(node)))
		starting := historytest.ReadyPod(fmt.Sprintf("backend-6d9f7c-x%dk2p", i), node, history.Added)
		starting.Ready = false
		b.Pod(time.Duration(3000+i*400)*ms, starting)
		ready := starting
		ready.Ready = true
		b.Pod(time.Duration(5000+i*600)*ms, ready)
	}
	b.Fault(killed, history.FaultMark{Name: "kill worker w3", Stage: history.Injecting})
	b.Fault(killed+400*ms, history.FaultMark{Name: "kill worker w3", Stage: history.Seen, Nodes: []string{"w3"},
		Pods: []string{"backend-6d9f7c-x3k2p"}, Witness: "the engine says w3 has exited, and its kubelet port is silent"})
	b.Fault(40*sec, history.FaultMark{Name: "kill worker w3", Stage: history.Healing})
	b.Fault(back+500*ms, history.FaultMark{Name: "kill worker w3", Stage: history.Healed, Witness: "w3 is Ready and reaches a Service"})
	lost := historytest.ReadyNode("w3", "b")
	lost.Ready = "Unknown"
	b.Node(noticed, lost).Node(back, historytest.ReadyNode("w3", "b"))
	p := historytest.ReadyPod("backend-6d9f7c-x3k2p", "w3", history.Modified)
	p.Ready = false
	b.Pod(noticed, p)
	p.Deleting, p.Disruption = true, "DeletionByTaintManager"
	b.Pod(noticed+5*sec, p)
	fresh := historytest.ReadyPod("backend-6d9f7c-q9zzt", "w4", history.Added)
	fresh.Ready = false
	b.Pod(noticed+5*sec, fresh)
	fresh.Ready = true
	b.Pod(noticed+7*sec, fresh)
	p.Change = history.Deleted
	b.Pod(back+100*ms, p)
	b.Load("fresh", 200, 10*sec, 52*sec).Load("reused", 200, 10*sec, 52*sec)
	b.EditRequests(func(r *history.Request) {
		if r.Node == "w3" && r.Due > killed+100*ms && r.Due < noticed {
			r.Outcome, r.Status, r.Inferred, r.Done = history.TimeoutConnect, 0, true, r.Due+sec
			if r.Lane == "reused" && r.Due > killed+3*sec {
				r.Outcome, r.Status, r.Inferred, r.Done = history.OK, 200, false, r.Due+historytest.Latency
			}
		}
	})
	return reports.Describe(jitter(b).Run(), []verdict.Verdict{
		{Promise: "no request fails, on any lane", Kind: "NoFailedRequests", Outcome: verdict.Violated, At: 15605 * ms,
			Seen: "380 of 16800 requests failed, the first at 15.605s, the last due at 23.985s",
			Evidence: []string{
				"15.605s fresh #1121 to w3 (inferred): timeout-connect after 1.000s",
				"15.635s fresh #1127 to w3 (inferred): timeout-connect after 1.000s",
				"w3 was Ready=True until 24.000s, 8.100s after it was seen dead",
			},
			Numbers: map[string]float64{"requests": 16800, "failed": 380, "firstFailureSeconds": 15.605, "lastFailureSeconds": 23.985}},
		Held("FailuresEndWithin", "failures stay within the victims' share and end within 9s of the loss",
			"failures ended 8.1s after the loss; predicted at most 9s; the victims' share was 16.7 %",
			map[string]float64{"predictedSeconds": 9, "measuredSeconds": 8.1, "share": 0.167}),
		Held("RecoversWithin", "all replicas are available again within 60s", "6 of 6 replicas available after 15.5s",
			map[string]float64{"recoveredSeconds": 15.5}),
	})
}

// rolledOut is a scenario with pods of two generations, and a node without a zone.
func rolledOut() reports.Scenario {
	b := Named(historytest.New(), "chaos/rolling-update", "a rolling update is invisible to clients")
	b.Phase(history.Deploy, 0).Phase(history.Steady, 5*sec).Phase(history.Disturbed, 10*sec).Phase(history.Recovered, 34*sec)
	b.Phase(history.Drained, 40*sec)
	b.Workload(sec, historytest.BackendWorkload(6, 6))
	var replaced []string
	for i := 1; i <= 6; i++ {
		node := fmt.Sprintf("w%d", i)
		b.Node(sec, historytest.ReadyNode(node, historytest.ZoneOf(node)))
		b.Pod(sec, historytest.ReadyPod(fmt.Sprintf("backend-6d9f7c-a%d", i), node, history.Listed))
		replaced = append(replaced, fmt.Sprintf("backend-6d9f7c-a%d", i))
		start := time.Duration(10+i*3) * sec
		next := historytest.ReadyPod(fmt.Sprintf("backend-77aa4b-b%d", i), node, history.Added)
		next.Labels = map[string]string{"app.kubernetes.io/name": "backend", "pod-template-hash": "rev2"}
		next.Ready = false
		b.Pod(start, next)
		next.Ready = true
		b.Pod(start+2*sec, next)
		old := historytest.ReadyPod(fmt.Sprintf("backend-6d9f7c-a%d", i), node, history.Modified)
		old.Deleting = true
		b.Pod(start+2*sec, old)
		old.Change = history.Deleted
		b.Pod(start+5500*ms, old)
	}
	gateway := historytest.ReadyPod("gateway-58f6d-zz9", "load", history.Listed)
	gateway.Labels = map[string]string{"app": "gateway"}
	b.Workload(sec, history.Workload{Name: "gateway", Selector: gateway.Labels, Replicas: 1, Ready: 1})
	worker := historytest.ReadyPod("load-0", "load", history.Listed)
	worker.Labels = nil
	b.Pod(sec, gateway).Pod(sec, worker)
	b.Fault(10*sec, history.FaultMark{Name: "change the pod template", Stage: history.Injecting})
	b.Fault(33*sec, history.FaultMark{Name: "change the pod template", Stage: history.Seen, Pods: replaced, Witness: "6 pods of the newest revision, 6 ready endpoints"})
	b.Fault(33*sec, history.FaultMark{Name: "change the pod template", Stage: history.Healing})
	b.Fault(33500*ms, history.FaultMark{Name: "change the pod template", Stage: history.Healed, Witness: "nothing to undo"})
	b.Load("fresh", 200, 5*sec, 40*sec).Load("reused", 200, 5*sec, 40*sec).Load("control", 20, 5*sec, 40*sec)
	return reports.Describe(jitter(b).Run(), []verdict.Verdict{
		Held("NoFailedRequests", "no request fails, on any lane", "0 of 14000 requests failed on lanes fresh and reused",
			map[string]float64{"requests": 14000, "failed": 0}),
	})
}

func starved() reports.Scenario {
	b := Named(historytest.Healthy(), "chaos/delete-two-pods", "deleting pods is invisible to clients")
	b.Fail("fresh", 24*sec, 27*sec, history.Unsent).Fail("reused", 24500*ms, 27*sec, history.Unsent)
	b.Trouble(26*sec, "the load worker was starved of CPU for 2.8s").Gap("pods", 24*sec, 25*sec)
	return reports.Describe(jitter(b).Run(), []verdict.Verdict{
		{Promise: "no request fails, on any lane", Kind: "NoFailedRequests", Outcome: verdict.Unknown, At: 24 * sec,
			Seen:     "1100 of 12000 requests were never sent: the load was not delivered",
			Evidence: []string{"fresh: 600 unsent from 24.000s to 26.995s", "reused: 500 unsent from 24.500s to 26.995s"}},
	})
}

func placed() reports.Scenario {
	b := Named(historytest.New(), "conformance/zone-spread-1-to-7", "at 1 to 7 replicas no zone has two pods more than another")
	b.Phase(history.Deploy, 0)
	b.Workload(0, historytest.BackendWorkload(1, 1))
	for i := 1; i <= 6; i++ {
		node := fmt.Sprintf("w%d", i)
		b.Node(0, historytest.ReadyNode(node, historytest.ZoneOf(node)))
	}
	order := []string{"w1", "w3", "w5", "w2", "w4", "w6", "w1"}
	for i, node := range order {
		at := time.Duration(i*4) * sec
		p := historytest.ReadyPod(fmt.Sprintf("backend-5c-p%d", i+1), node, history.Added)
		p.Ready = false
		b.Pod(at+sec, p)
		p.Ready = true
		b.Pod(at+2*sec, p)
	}
	stuck := historytest.ReadyPod("backend-5c-p8", "", history.Added)
	stuck.Ready, stuck.Phase, stuck.Unschedulable = false, "Pending", "0/6 nodes are available: 6 node(s) didn't match pod topology spread constraints"
	b.Pod(27*sec, stuck)
	b.Phase(history.Drained, 30*sec)
	return reports.Describe(b.Run(), []verdict.Verdict{
		Held("Spread", "settled, the zones differ by at most 1 pod", "7 settled moments: the largest difference was 1",
			map[string]float64{"settled": 7, "largestSkew": 1}),
	})
}

func cutOff() reports.Scenario {
	b := Named(historytest.Healthy(), "chaos/scale-up-and-down", "scaling is invisible to clients")
	b.DropEvents(func(e history.Event) bool { return e.T > 25*sec }).DropRequests(func(r history.Request) bool { return r.Due > 26*sec })
	b.Incomplete("events.jsonl ends in the middle of line 412").FailReading(fmt.Errorf("requests/w-0007.csv: truncated"))
	return reports.Describe(jitter(b).Run(), nil)
}

func dropsAtSIGTERM() reports.Scenario {
	b := Named(historytest.Healthy(), "mutants/drops-at-sigterm", "a server that drops its connections at SIGTERM is caught")
	b.Header(func(h *history.Header) {
		h.Promises = []history.Promise{{Kind: "NoFailedRequests"}}
		h.Mutant = &history.Mutant{Removed: "finishing open requests at SIGTERM", CaughtBy: "NoFailedRequests", Twin: "chaos/drain-one-worker", Cause: "cut-at-sigterm"}
	})
	b.Fail("fresh", 17010*ms, 17120*ms, history.Refused).Fail("reused", 17*sec, 17050*ms, history.Reset)
	return reports.Describe(jitter(b).Run(), []verdict.Verdict{
		{Promise: "no request fails, on any lane", Kind: "NoFailedRequests", Outcome: verdict.Violated, At: 17 * sec,
			Seen: "32 of 12000 requests failed, the first at 17.000s", Evidence: []string{"17.000s reused #1400 to backend-1: reset"},
			Numbers: map[string]float64{"requests": 12000, "failed": 32, "cause.cut-at-sigterm": 32, "unattributed": 0}},
	})
}

func missed() reports.Scenario {
	b := Named(historytest.Healthy(), "mutants/no-prestop", "a workload without preStop is caught <script>alert(1)</script>")
	b.Header(func(h *history.Header) {
		h.Promises = []history.Promise{{Kind: "NoFailedRequests"}}
		h.Mutant = &history.Mutant{Removed: "the preStop sleep", CaughtBy: "NoFailedRequests", Twin: "chaos/absent", Cause: "late-endpoint"}
	})
	return reports.Describe(jitter(b).Run(), []verdict.Verdict{
		Held("NoFailedRequests", "no request fails, on any lane", "0 of 12000 requests failed", nil),
	})
}
