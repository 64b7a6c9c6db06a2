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

// asRecorded makes a record like those of `holdfast record`: Kubernetes' own timings, and requests that name no pod.
func asRecorded(b *ht.Builder) *ht.Builder {
	b.AsRecording(recordedService).Header(func(h *history.Header) {
		h.Cluster.Timings = history.Timings{NodeStatusUpdate: 10 * time.Second, NodeMonitorPeriod: 5 * time.Second, NodeMonitorGrace: 50 * time.Second, Toleration: 300 * time.Second}
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Front = &history.Front{Name: "the way from where holdfast runs to " + recordedService, Backends: []string{ht.Service}}
		}
	})
	return b.EditRequests(func(r *history.Request) {
		r.Pod, r.Node, r.Zone, r.Revision, r.Addr, r.Inferred = "", "", "", "", "", false
	})
}

// calm is a recording in which nothing happens.
func calm() *ht.Builder { return calmAt(ht.Rate) }

// calmAt is calm with another rate.
func calmAt(rate int) *ht.Builder {
	b := ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.T >= ht.SteadyAt && (e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil)
	}).DropRequests(func(history.Request) bool { return true })
	b.Load(history.LaneFresh, rate, ht.SteadyAt, ht.DrainedAt).Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].RatePerSecond = float64(rate)
		}
	})
	return asRecorded(b.Load(history.LaneReused, rate, ht.SteadyAt, ht.DrainedAt))
}

// ends is how a pod comes to its end, or a container of it.
type ends func(p *history.Pod)

func podRestarts(p *history.Pod) { p.Ready, p.Restarts = false, p.Restarts+1 }
func podFails(p *history.Pod)    { p.Ready, p.Phase = false, "Failed" }
func podEvicted(p *history.Pod) {
	p.Ready, p.Phase, p.Disruption = false, "Failed", "TerminationByKubelet"
}

// strike ends pods, given by their numbers, 300 ms apart, and makes them endpoints again after a time.
func strike(b *ht.Builder, how ends, at, away history.Offset, numbers ...int) *ht.Builder {
	left := []int{}
	for n := 1; n <= ht.Replicas; n++ {
		left = append(left, n)
	}
	for i, n := range numbers {
		when := at + history.Offset(i)*300*ms
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Modified)
		how(&p)
		b.Pod(when, p)
		left = without(left, n)
		b.Slice(when+50*ms, sliceOf(left...)).Workload(when+60*ms, ht.BackendWorkload(len(left), ht.Replicas))
		again := p
		again.Ready = true
		if p.Phase == "Failed" { // another pod takes its place
			gone := p
			gone.Change = history.Deleted
			b.Pod(when+100*ms, gone)
			again = ht.ReadyPod(fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n), history.Added)
			again.UID += "-2"
		}
		b.Pod(at+away, again)
	}
	return b.Slice(at+away+50*ms, sliceOf(1, 2, 3, 4, 5, 6)).Workload(at+away+60*ms, ht.BackendWorkload(ht.Replicas, ht.Replicas))
}

func without(list []int, n int) (rest []int) {
	for _, x := range list {
		if x != n {
			rest = append(rest, x)
		}
	}
	return rest
}

// failEach fails one of so many requests on both lanes.
func failEach(b *ht.Builder, of uint64, from, to history.Offset, outcome history.Outcome) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Due >= from && r.Due < to && r.Seq%of == 0 {
			r.Outcome, r.Status, r.Bytes, r.Err, r.Reused = outcome, 0, 0, string(outcome), false
		}
	})
}

// oneByOne is a recording in which five of six pods fail, each 3 s after the one before, and come back after 2 s.
func oneByOne() *ht.Builder {
	b := calm()
	for n := 1; n <= 5; n++ {
		strike(b, podFails, 15*second+history.Offset(n)*3*second, 2*second, n)
	}
	return b
}

// failMost fails two of three requests on both lanes.
func failMost(b *ht.Builder, from, to history.Offset) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Due >= from && r.Due < to && r.Seq%3 > 0 {
			r.Outcome, r.Status, r.Bytes, r.Err, r.Reused = history.Refused, 0, 0, "refused", false
		}
	})
}

// killing has a kubelet kill a container of the third pod, which may take its grace period to end.
func killing(b *ht.Builder, at history.Offset) *ht.Builder {
	return b.Event(history.Event{T: at, KubeNote: &history.KubeNote{Namespace: ht.Namespace, Kind: "Pod", Name: "backend-3", Reason: "Killing", Message: "failed liveness probe"}})
}

// TestTheTimeOfALostNodeIsALostNodes: what is not on a lost node has the time that proxies need, and no more. All pods at once prove nothing.
func TestTheTimeOfALostNodeIsALostNodes(t *testing.T) {
	all := []int{1, 2, 3, 4, 5, 6}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
	}{
		"all containers are restarted, and nothing answers for 12 s":       {failEach(strike(calm(), podRestarts, 20*second, 12*second, all...), 1, 19*second, 32*second, history.Refused), verdict.Violated},
		"kubelets evict all pods, and nothing answers for 12 s":            {failEach(strike(calm(), podEvicted, 20*second, 12*second, all...), 1, 19*second, 32*second, history.Refused), verdict.Violated},
		"all pods fail, and nothing answers for 12 s":                      {failEach(strike(calm(), podFails, 20*second, 12*second, all...), 1, 19*second, 32*second, history.Refused), verdict.Violated},
		"one container is restarted, and its share fails for 12 s":         {failEach(strike(calm(), podRestarts, 20*second, 12*second, 3), 6, 19*second, 32*second, history.Refused), verdict.Violated},
		"one pod is evicted, and its share fails again 10 s later":         {failEach(strike(calm(), podEvicted, 20*second, 2*second, 3), 6, 30*second, 31*second, history.Refused), verdict.Violated},
		"one pod fails, and 2 of 3 requests with it":                       {failEach(strike(calm(), podFails, 20*second, 2*second, 3), 2, 19500*ms, 21500*ms, history.Refused), verdict.Violated},
		"one after the other is restarted, and nothing answers between":    {failEach(strike(strike(calm(), podRestarts, 18*second, 2*second, 1), podRestarts, 30*second, 2*second, 2), 1, 22*second, 25*second, history.Refused), verdict.Violated},
		"one pod after the other fails, and 2 of 3 requests all the time":  {failMost(oneByOne(), 17*second, 31*second), verdict.Violated},
		"one pod after the other fails, and a share of the requests":       {failEach(oneByOne(), 6, 17*second, 31*second, history.Refused), verdict.Held},
		"all pods fail, and nothing answers for a moment":                  {failEach(strike(calm(), podFails, 20*second, 2*second, all...), 1, 20*second, 22*second, history.Refused), verdict.Unknown},
		"one pod fails, and its share fails for a moment":                  {failEach(strike(calm(), podFails, 20*second, 6*second, 3), 6, 19500*ms, 21500*ms, history.Refused), verdict.Held},
		"one pod is evicted, and its share fails for a moment":             {failEach(strike(calm(), podEvicted, 20*second, 6*second, 3), 6, 19500*ms, 21500*ms, history.Refused), verdict.Held},
		"one pod fails, and no request":                                    {strike(calm(), podFails, 20*second, 6*second, 3), verdict.Held},
		"all containers are restarted, and nothing answers for a moment":   {failEach(strike(calm(), podRestarts, 20*second, 2*second, all...), 1, 20*second, 22*second, history.Refused), verdict.Unknown},
		"one container is restarted, and its share fails for a moment":     {failEach(strike(calm(), podRestarts, 20*second, 6*second, 3), 6, 18500*ms, 21500*ms, history.Refused), verdict.Held},
		"one container is restarted, and no request fails":                 {strike(calm(), podRestarts, 20*second, 6*second, 3), verdict.Held},
		"one container is killed, and its share fails until it has ended":  {failEach(strike(killing(calm(), 12*second), podRestarts, 20*second, 6*second, 3), 6, 13*second, 20*second, history.TimeoutResponse), verdict.Held},
		"one container is killed, and its share fails for long after that": {failEach(strike(killing(calm(), 12*second), podRestarts, 20*second, 6*second, 3), 6, 13*second, 26*second, history.TimeoutResponse), verdict.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			run := test.b.Run()
			v := judge.CheckAll(run, promised(*run.Header.Recorded))[1]
			outcome(t, v, test.want)
		})
	}
}

// TestNothingPlannedHidesBehindSomethingElse: a drain that drops requests breaks its promise, also if something happens to other pods at the same time.
func TestNothingPlannedHidesBehindSomethingElse(t *testing.T) {
	drain := func() *ht.Builder {
		return failEach(asRecorded(ht.Healthy()), 8, 17100*ms, 18300*ms, history.Refused)
	}
	judged := func(b *ht.Builder) (planned verdict.Verdict, all verdict.Outcome) {
		run := b.Run()
		list := judge.CheckAll(run, promised(*run.Header.Recorded)[:2])
		return list[0], judge.Overall(list)
	}
	// other pods come to an end, which are back at once
	beside := func(b *ht.Builder, how ends, at history.Offset) *ht.Builder {
		p := ht.ReadyPod("backend-4", "w4", history.Modified)
		how(&p)
		b.Pod(at, p)
		if p.Phase != "Failed" {
			p.Ready = true
			b.Pod(at+500*ms, p)
		}
		return b
	}
	if v, all := judged(drain()); v.Outcome != verdict.Violated || all != verdict.Violated {
		t.Errorf("alone: %s: %s", v.Outcome, v.Seen)
	}
	for _, how := range []struct {
		name string
		ends ends
	}{{"a restart", podRestarts}, {"a failed pod", podFails}, {"an eviction by a kubelet", podEvicted}} {
		for _, at := range []history.Offset{12 * second, 13 * second, 14 * second, 25 * second, 30 * second} {
			if v, all := judged(beside(drain(), how.ends, at)); v.Outcome != verdict.Violated || all != verdict.Violated {
				t.Errorf("%s at %s: %s: %s", how.name, at, v.Outcome, v.Seen)
			}
		}
		for _, at := range []history.Offset{15500 * ms, 16500 * ms, 17 * second, 17500 * ms, 18 * second, 20 * second} {
			if v, all := judged(beside(drain(), how.ends, at)); v.Outcome == verdict.Held || all == verdict.Held {
				t.Errorf("%s at %s: %s: %s", how.name, at, v.Outcome, v.Seen)
			}
		}
	}
	sound := asRecorded(ht.Healthy())
	beside(sound, podRestarts, 30*second)
	failEach(sound, 6, 29500*ms, 30500*ms, history.Refused)
	few := sound.Copy().EditRequests(func(r *history.Request) { // two more, which holdfast.yaml allows
		if r.Lane == history.LaneFresh && (r.Due == 18*second || r.Due == 18100*ms) {
			r.Outcome, r.Status, r.Bytes = history.Refused, 0, 0
		}
	}).Run()
	for i, v := range judge.CheckAll(few, []invariant.Invariant{invariant.FewFailedRequests{AtMost: 2}, invariant.FailuresEndWithin{}, invariant.FewFailedRequests{AtMost: 1}}) {
		outcome(t, v, []verdict.Outcome{verdict.Held, verdict.Held, verdict.Violated}[i])
	}
	v, all := judged(sound)
	if all != verdict.Held || !strings.Contains(v.Seen, "without 68 failures that something involuntary explains through") {
		t.Errorf("a drain, and later a restart whose share fails: %s: %s: %s", all, v.Outcome, v.Seen)
	}
}

// TestNothingPlannedHidesInRealRecords: a container of another pod is restarted in real records of drains and rollouts that drop requests.
func TestNothingPlannedHidesInRealRecords(t *testing.T) {
	for _, name := range []string{"drops-at-sigterm", "slow-no-prestop"} {
		_, run := unpackGolden(t, name)
		var service string
		var pods []history.Pod
		for _, e := range run.Events {
			if e.Slice != nil && e.Slice.Service == "backend" {
				service = e.Slice.Namespace + "/backend"
			}
			if e.Pod != nil && e.Pod.Ready && e.Pod.Labels["app.kubernetes.io/name"] == "backend" {
				pods = append(pods, *e.Pod)
			}
		}
		recorded := func() *ht.Builder {
			b := editable(t, run)
			return b.AsRecording(service).Header(func(h *history.Header) { h.Samples = min(h.Samples, history.SamplesOfItself) })
		}
		ends := []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}}
		alone := judge.CheckAll(recorded().Run(), ends)
		if alone[0].Outcome != verdict.Violated {
			t.Fatalf("%s: %s: %s", name, alone[0].Outcome, alone[0].Seen)
		}
		other := pods[len(pods)-1]
		for _, before := range []history.Offset{-2 * second, 0, 1500 * ms, 3 * second} {
			b, down := recorded(), other
			down.Change, down.Restarts, down.Ready = history.Modified, down.Restarts+1, false
			b.Pod(alone[0].At-before, down)
			down.Ready = true
			b.Pod(alone[0].At-before+300*ms, down)
			if list := judge.CheckAll(b.Run(), ends); judge.Overall(list) == verdict.Held || list[0].Outcome == verdict.Held {
				t.Errorf("%s, a restart %s before the first failure: %s, and %s", name, before, list[0].Seen, list[1].Seen)
			}
		}
	}
}

// TestAFilesPromisesAreJudged: how slow answers may become, and how many requests may fail, is judged of a recording as well, while something planned
// happens.
func TestAFilesPromisesAreJudged(t *testing.T) {
	slow := func(b *ht.Builder, at history.Offset) *ht.Builder {
		return b.EditRequests(func(r *history.Request) {
			if r.Due >= at && r.Due < at+50*ms {
				r.Done = r.Sent + 200*ms
			}
		})
	}
	faster := invariant.AnswersWithin{Slowest: 50 * ms, P99: 50 * ms, Foreign: true}
	few := func(b *ht.Builder) *ht.Builder { return failEach(b, 1, 18*second, 18010*ms, history.Refused) } // 2 on each lane
	for name, test := range map[string]struct {
		b     *ht.Builder
		p     invariant.Invariant
		want  verdict.Outcome
		tests bool
	}{
		"a drain":                            {asRecorded(ht.Healthy()), faster, verdict.Held, true},
		"a drain, with slow answers":         {slow(asRecorded(ht.Healthy()), 18*second), faster, verdict.Violated, true},
		"a failed pod, with slow answers":    {slow(strike(calm(), podFails, 20*second, 2*second, 3), 20*second), faster, verdict.Unknown, false},
		"a drain, with as many as may fail":  {few(asRecorded(ht.Healthy())), invariant.FewFailedRequests{AtMost: 4}, verdict.Held, true},
		"a drain, with more than may fail":   {few(asRecorded(ht.Healthy())), invariant.FewFailedRequests{AtMost: 3}, verdict.Violated, true},
		"nothing, with more than may fail":   {few(calm()), invariant.FewFailedRequests{AtMost: 3}, verdict.Violated, true},
		"a failed pod, with as many as that": {few(strike(calm(), podFails, 20*second, 2*second, 3)), invariant.FewFailedRequests{AtMost: 4}, verdict.Unknown, false},
	} {
		v := judge.CheckAll(test.b.Run(), []invariant.Invariant{test.p, invariant.FailuresEndWithin{}})[0]
		if v.Outcome != test.want || v.Outcome == verdict.Unknown && test.tests {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Seen)
		}
	}
}

// TestWhatAFilePromisesOfARestart: the time that proxies need is for files that promise no other one.
func TestWhatAFilePromisesOfARestart(t *testing.T) {
	short := func(how ends) *ht.Builder { return strike(calm(), how, 20*second, second, 3) }
	for name, test := range map[string]struct {
		b     *ht.Builder
		limit history.Offset
		want  verdict.Outcome
	}{
		"a share fails for 10 s, and 60 s are promised": {failEach(short(podRestarts), 6, 19*second, 29*second, history.Refused), 60 * second, verdict.Held},
		"of a failed pod":                                          {failEach(short(podFails), 6, 19*second, 29*second, history.Refused), 60 * second, verdict.Held},
		"of an evicted pod":                                        {failEach(short(podEvicted), 6, 19*second, 29*second, history.Refused), 60 * second, verdict.Held},
		"and 6 s are promised":                                     {failEach(short(podRestarts), 6, 19*second, 29*second, history.Refused), 6 * second, verdict.Violated},
		"a share fails for 3 s, and 1 s is promised":               {failEach(short(podRestarts), 6, 19*second, 22*second, history.Refused), second, verdict.Violated},
		"all fail for 10 s, and 60 s are promised":                 {failEach(short(podRestarts), 1, 19*second, 29*second, history.Refused), 60 * second, verdict.Violated},
		"a share fails for 10 s, and more is promised than exists": {failEach(short(podRestarts), 6, 19*second, 29*second, history.Refused), 1 << 62, verdict.Held},
	} {
		v := judge.CheckAll(test.b.Run(), []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{Limit: test.limit}})[1]
		outcome(t, v, test.want, name)
	}
}

// TestFewRequestsShowNothingOfAShare: if all requests fail, and so few were sent that chance may have led all to the victims, nothing shows that another
// pod answered.
func TestFewRequestsShowNothingOfAShare(t *testing.T) {
	const few = 10
	five, four, three := []int{1, 2, 3, 4, 5}, []int{1, 2, 3, 4}, []int{1, 2, 3}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
		says string
	}{
		"five of six are restarted, and all fail for 3 s":        {failEach(strike(calmAt(few), podRestarts, 20*second, 2*second, five...), 1, 18500*ms, 21450*ms, history.Refused), verdict.Unknown, "nothing shows that the pods that were left could answer"},
		"four of six fail, and all requests for 1.5 s":           {failEach(strike(calmAt(few), podFails, 20*second, 2*second, four...), 1, 20*second, 21500*ms, history.Refused), verdict.Unknown, "nothing shows that the pods that were left could answer"},
		"three of six are evicted, and all requests for 1 s":     {failEach(strike(calmAt(few), podEvicted, 20*second, 2*second, three...), 1, 20*second, 21*second, history.Refused), verdict.Unknown, "nothing shows that the pods that were left could answer"},
		"five of six are restarted, and two of three requests":   {failMost(strike(calmAt(few), podRestarts, 20*second, 2*second, five...), 18500*ms, 21450*ms), verdict.Held, ""},
		"one of six is restarted, and one request fails":         {failEach(strike(calmAt(few), podRestarts, 20*second, 2*second, 3), 6, 20*second, 20500*ms, history.Refused), verdict.Held, ""},
		"five of six are restarted, and all fail, of many":       {failEach(strike(calm(), podRestarts, 20*second, 2*second, five...), 1, 18500*ms, 21450*ms, history.Refused), verdict.Violated, "more than the victims' share failed"},
		"five of six are restarted, and all fail for twice that": {failEach(strike(calmAt(few), podRestarts, 20*second, 2*second, five...), 1, 18500*ms, 24100*ms, history.Refused), verdict.Violated, "more than the victims' share failed"},
	} {
		run := test.b.Run()
		list := judge.CheckAll(run, promised(*run.Header.Recorded)[:2])
		if v := list[1]; v.Outcome != test.want || !strings.Contains(v.Seen, test.says) || judge.Overall(list) == verdict.Held && test.want != verdict.Held {
			t.Errorf("%s: %s, want %s: %s", name, v.Outcome, test.want, v.Seen)
		}
	}
}

// deletes has a pod deleted, which another replaces.
func deletes(b *ht.Builder, at history.Offset, n int) *ht.Builder {
	name, node := fmt.Sprintf("backend-%d", n), fmt.Sprintf("w%d", n)
	left := without([]int{1, 2, 3, 4, 5, 6}, n)
	old, young := ht.ReadyPod(name, node, history.Modified), ht.ReadyPod(name, node, history.Added)
	old.Deleting, young.UID = true, young.UID+"-2"
	b.Pod(at, old).Slice(at+50*ms, sliceOf(left...)).Workload(at+60*ms, ht.BackendWorkload(5, 6))
	old.Change = history.Deleted
	return b.Pod(at+2*second, old).Pod(at+3*second, young).Slice(at+3050*ms, sliceOf(1, 2, 3, 4, 5, 6)).Workload(at+3060*ms, ht.BackendWorkload(6, 6))
}

// TestADeletionBeginsBeforeItIsReported: a server that ends its connections at once does so before a watch tells of the deletion.
func TestADeletionBeginsBeforeItIsReported(t *testing.T) {
	for _, how := range []ends{podRestarts, podFails, podEvicted} {
		for before, want := range map[history.Offset]verdict.Outcome{80 * ms: verdict.Unknown, 500 * ms: verdict.Unknown, 900 * ms: verdict.Unknown, 2500 * ms: verdict.Held} {
			b := deletes(strike(calm(), how, 19*second, 500*ms, 4), 20*second, 2)
			failEach(b, 6, 20*second-before, 20*second-before+70*ms, history.Reset)
			run := b.Run()
			list := judge.CheckAll(run, promised(*run.Header.Recorded)[:2])
			if list[0].Outcome != want || judge.Overall(list) != want {
				t.Errorf("%s before the report: %s: %s, and %s", before, list[0].Outcome, list[0].Seen, list[1].Seen)
			}
		}
	}
}

// TestWhatBeganBeforeARecordingLastsNoLonger than what begins in it.
func TestWhatBeganBeforeARecordingLastsNoLonger(t *testing.T) {
	lost := func() *ht.Builder {
		node, pod := ht.ReadyNode("w3", "b"), ht.ReadyPod("backend-3", "w3", history.Modified)
		node.Ready, pod.Ready = "Unknown", false
		return calm().Node(9*second, node).Pod(9*second, pod).Slice(9050*ms, sliceOf(1, 2, 4, 5, 6))
	}
	before := func(how ends) *ht.Builder { return strike(calm(), how, 9*second, 500*ms, 3) }
	for name, test := range map[string]struct {
		b     *ht.Builder
		at    history.Offset // from when a share fails for a second
		limit history.Offset
		want  verdict.Outcome
	}{
		"a restart, and failures at once":                   {before(podRestarts), 10 * second, 0, verdict.Unknown},
		"a restart, and failures 11 s later":                {before(podRestarts), 20 * second, 0, verdict.Violated},
		"a failed pod, and failures 11 s later":             {before(podFails), 20 * second, 0, verdict.Violated},
		"an eviction, and failures 5 s later":               {before(podEvicted), 14 * second, 0, verdict.Violated},
		"a restart, of which the file promises 20 s":        {before(podRestarts), 20 * second, 20 * second, verdict.Unknown},
		"a restart, of which the file promises 2 s":         {before(podRestarts), 20 * second, 2 * second, verdict.Violated},
		"a lost node, and failures 11 s later":              {lost(), 20 * second, 0, verdict.Unknown},
		"a lost node, and failures 11 s later, 20 promised": {lost(), 20 * second, 20 * second, verdict.Unknown},
	} {
		b := failEach(test.b, 6, test.at, test.at+second, history.Refused)
		list := judge.CheckAll(b.Run(), []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{Limit: test.limit}})
		if all := judge.Overall(list); all != test.want {
			t.Errorf("%s: %s, want %s: %s, and %s", name, all, test.want, list[0].Seen, list[1].Seen)
		}
	}
}
