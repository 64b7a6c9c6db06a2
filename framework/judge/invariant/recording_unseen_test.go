package invariant_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// unwatched takes away the reports of nodes, which the user must not watch.
func unwatched(b *ht.Builder) *ht.Builder {
	asked(b, func(r *history.Recorded) {
		r.NotWatched = []history.NotWatched{{What: "nodes", Why: "this user must not list nodes"}}
	})
	return b.DropEvents(func(e history.Event) bool { return e.Node != nil })
}

// kubeNote adds a Kubernetes Event about a pod.
func kubeNote(b *ht.Builder, at history.Offset, name, reason, source string) *ht.Builder {
	return b.Event(history.Event{T: at, KubeNote: &history.KubeNote{Namespace: ht.Namespace, Kind: "Pod", Name: name, Reason: reason, Source: source}})
}

// unhealthy has a kubelet report a readiness probe that failed.
func unhealthy(b *ht.Builder, at history.Offset, name string) *ht.Builder {
	return kubeNote(b, at, name, "Unhealthy", "kubelet")
}

// fades makes a ready pod unready, as the control plane does to the pods of a node that it does not hear.
func fades(b *ht.Builder, at history.Offset, name, node string) *ht.Builder {
	p := ht.ReadyPod(name, node, history.Modified)
	p.Ready = false
	return b.Pod(at, p)
}

// TestANodeThatNobodyMayWatchExplainsFailures: without reports of nodes a lost node is not seen, and what its loss may explain breaks no promise. What it
// cannot explain does.
func TestANodeThatNobodyMayWatchExplainsFailures(t *testing.T) {
	ends := []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}}
	_, run := unpackGolden(t, goldenKill)
	real := unwatched(editable(t, run).AsRecording("hf-chaos-kill-one-worker/backend").Header(func(h *history.Header) { h.Samples = min(h.Samples, history.SamplesOfItself) }))
	share := func(b *ht.Builder) *ht.Builder { return failEach(b, 6, 20*second, 30*second, history.TimeoutConnect) }
	collected := ht.ReadyPod("backend-3", "w3", history.Modified)
	collected.Deleting, collected.Disruption = true, "DeletionByPodGC"
	gone := collected
	gone.Change = history.Deleted
	neighbour := ht.ReadyPod("backend-9", "w3", history.Listed)
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
		says string
	}{
		"a real loss":                                          {real, verdict.Unknown, "nodes were not watched"},
		"pods that become unready":                             {unwatched(fades(share(calm()), 30*second, "backend-3", "w3").Slice(30100*ms, sliceOf(1, 2, 4, 5, 6))), verdict.Unknown, "nodes were not watched, and all pods on node w3 became unready together"},
		"pods of a node that is deleted":                       {unwatched(share(calm()).Pod(31*second, collected).Pod(31*second+ms, gone).Slice(31100*ms, sliceOf(1, 2, 4, 5, 6))), verdict.Unknown, "nodes were not watched"},
		"nothing":                                              {unwatched(share(calm())), verdict.Violated, "while nothing that requests reach was disturbed"},
		"a pod beside another that stays":                      {unwatched(fades(share(calm()).Pod(3*second, neighbour), 30*second, "backend-3", "w3")), verdict.Violated, "while nothing that requests reach was disturbed"},
		"a pod that becomes unready too early":                 {unwatched(fades(share(calm()), 15*second, "backend-3", "w3")), verdict.Violated, "while nothing that requests reach was disturbed"},
		"a drain that drops requests":                          {unwatched(failEach(asRecorded(ht.Healthy()), 8, 17100*ms, 18300*ms, history.Refused)), verdict.Violated, "requests failed"},
		"a pod that fails its readiness probe once":            {unhealthy(fades(failEach(asRecorded(ht.Healthy()), 8, 17100*ms, 18300*ms, history.Refused), 18*second, "backend-3", "w3"), 18*second, "backend-3"), verdict.Violated, "requests failed"},
		"beside a share that fails":                            {unhealthy(fades(share(calm()), 30*second, "backend-3", "w3"), 30*second, "backend-3"), verdict.Violated, "while nothing that requests reach was disturbed"},
		"beside a pod of the same node that fades":             {unhealthy(fades(fades(share(calm()).Pod(3*second, neighbour), 30*second, "backend-3", "w3"), 30*second, "backend-9", "w3"), 29*second, "backend-9"), verdict.Violated, "while nothing that requests reach was disturbed"},
		"a kubelet that reported something long before":        {unhealthy(fades(share(calm()), 30*second, "backend-3", "w3"), 12*second, "backend-3"), verdict.Unknown, "nodes were not watched"},
		"a kubelet of another node that reported a bad probe":  {unhealthy(fades(share(calm()), 30*second, "backend-3", "w3"), 30*second, "backend-4"), verdict.Unknown, "nodes were not watched"},
		"a node controller that reported the loss of the node": {kubeNote(fades(share(calm()), 30*second, "backend-3", "w3"), 30*second, "backend-3", "NodeNotReady", "node-controller"), verdict.Unknown, "nodes were not watched"},
	} {
		list := judge.CheckAll(unwatched(test.b).Run(), ends)
		if all := judge.Overall(list); all != test.want || !slices.ContainsFunc(list, func(v verdict.Verdict) bool { return v.Outcome == test.want && strings.Contains(v.Seen, test.says) }) {
			t.Errorf("%s: %s, want %s: %s\n%s\n%s", name, all, test.want, test.says, list[0].Seen, list[1].Seen)
		}
	}
	broken := judge.Check(real.Run(), invariant.SpreadWithin{Workload: "backend", TopologyKey: "kubernetes.io/hostname", Limit: second})
	if broken.Outcome != verdict.Unknown || !strings.Contains(broken.Seen, "nodes were not watched") {
		t.Errorf("a promise about nodes: %s: %s", broken.Outcome, broken.Seen)
	}
}

// TestAPodThatIsStillEndingShowsNothing: what a drain does is not over before the last pod that it has told to end has ended.
func TestAPodThatIsStillEndingShowsNothing(t *testing.T) {
	stays := func(e history.Event) bool {
		return e.Pod != nil && e.Pod.Name == ht.Victim && e.Pod.Change == history.Deleted
	}
	second2 := func() *ht.Builder { // another pod is deleted, and stays
		p := ht.ReadyPod("backend-4", "w4", history.Modified)
		p.Deleting = true
		return asRecorded(ht.Healthy()).Pod(20*second, p)
	}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
	}{
		"it ends":       {asRecorded(ht.Healthy()), verdict.Held},
		"it never ends": {asRecorded(ht.Healthy()).DropEvents(stays), verdict.Unknown},
		"it ends after the load": {asRecorded(ht.Healthy()).EditEvents(func(e *history.Event) {
			if stays(*e) {
				e.T = ht.DrainedAt + second
			}
		}), verdict.Unknown},
		"another one is still ending": {second2(), verdict.Unknown},
		"it has ended, and still exists": {asRecorded(ht.Healthy()).EditEvents(func(e *history.Event) {
			if stays(*e) {
				e.Pod.Change = history.Modified
			}
		}), verdict.Held},
	} {
		v := judge.CheckAll(test.b.Run(), []invariant.Invariant{invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}})[0]
		if v.Outcome != test.want || test.want == verdict.Unknown && !strings.Contains(v.Seen, "was not over when the recording ended") {
			t.Errorf("%s: %s, want %s: %s", name, v.Outcome, test.want, v.Seen)
		}
	}
}

// TestTroubleAtTheEndOfARecordingIsNotForgotten: what goes wrong while the last requests are collected and the watches are compared with lists concerns
// everything before.
func TestTroubleAtTheEndOfARecordingIsNotForgotten(t *testing.T) {
	for _, at := range []history.Offset{ht.DrainedAt, ht.DrainedAt + ms, ht.DrainedAt + 60*second} {
		run := asRecorded(ht.Healthy()).Trouble(at, "pods were missed").Run()
		for _, v := range judge.CheckAll(run, promised(*run.Header.Recorded)) {
			if v.Outcome == verdict.Held || v.Outcome == verdict.Unknown && v.Untested {
				t.Errorf("trouble at %s: %s is %s: %s", at, v.Kind, v.Outcome, v.Seen)
			}
		}
	}
}

// TestNamesOfTwoNamespacesAreNotMixed: Services, and pods, of one name in two namespaces that requests reach are not told apart, so nothing is judged of
// requests.
func TestNamesOfTwoNamespacesAreNotMixed(t *testing.T) {
	blog := func(name, service string) func(b *ht.Builder) {
		return func(b *ht.Builder) {
			p := ht.ReadyPod(name, "w2", history.Listed)
			p.Namespace, p.UID, p.Labels = "blog", "uid-blog-"+name, map[string]string{"app": "blog"}
			w := ht.BackendWorkload(1, 1)
			w.Namespace, w.Name, w.Replicas, w.Selector, w.Spread = "blog", "blog", 1, map[string]string{"app": "blog"}, nil
			s := history.Slice{Change: history.Listed, Namespace: "blog", Name: service + "-xyz", Service: service,
				Endpoints: []history.Endpoint{{IP: "10.0.1.1", Pod: name, Node: "w2", Ready: true, Serving: true}}}
			b.Workload(3*second, w).Pod(3*second, p).Slice(3*second, s)
			asked(b, func(r *history.Recorded) { r.Services = append(slices.Clone(r.Services), "blog/"+service) })
		}
	}
	for name, test := range map[string]struct {
		edit func(*ht.Builder)
		want verdict.Outcome
	}{
		"two Services of two names":          {blog("blog-1", "blog"), verdict.Held},
		"two Services of one name":           {blog("blog-1", ht.Service), verdict.Unknown},
		"two pods of one name":               {blog("backend-2", "blog"), verdict.Unknown},
		"two pods of one name, one a victim": {blog(ht.Victim, "blog"), verdict.Unknown},
		"two pods of one name, one unreached": {func(b *ht.Builder) {
			blog(ht.Victim, "blog")(b)
			asked(b, func(r *history.Recorded) { r.Services = []string{recordedService} })
		}, verdict.Held},
	} {
		b := asRecorded(ht.Healthy())
		test.edit(b)
		v := judge.Check(b.Run(), invariant.NoFailedRequests{})
		outcome(t, v, test.want, name)
		if failing := judge.Check(strike(b, podFails, 25*second, 3*second, 4).Run(), invariant.FailuresEndWithin{}); failing.Outcome == verdict.Held && test.want != verdict.Held {
			t.Errorf("%s: %s", name, failing.Seen)
		}
	}
}

// TestAKeptConnectionIsItsPods: what fails on connections that were open before is tested against no share, because each leads to a pod that is known. It
// is excused if that pod is a victim, and never otherwise; and a front's connections lead to no known pod.
func TestAKeptConnectionIsItsPods(t *testing.T) {
	to := func(pod, node string, of uint64) func(*history.Request) {
		return func(r *history.Request) {
			if r.Lane == history.LaneReused && r.Sent >= 16*second && r.Sent < 18*second && r.Seq%of == 0 {
				r.Outcome, r.Status, r.Reused, r.Inferred, r.Pod, r.Node, r.Conn = history.Reset, 0, true, true, pod, node, 3
			}
		}
	}
	p := invariant.FailuresEndWithin{}
	outcome(t, judge.Check(killed().EditRequests(to("backend-3", "w3", 1)).Run(), p), verdict.Held)
	outcome(t, judge.Check(killed().EditRequests(to("backend-3", "w3", 1)).EditRequests(to("backend-4", "w4", 50)).Run(), p), verdict.Violated)
	outcome(t, judge.Check(killed().EditRequests(to("", "", 2)).Run(), p), verdict.Violated)
	front := killed().EditRequests(to("backend-3", "w3", 2)).Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Front = &history.Front{Name: "the way", Backends: []string{ht.Service}}
		}
	})
	outcome(t, judge.Check(front.Run(), p), verdict.Violated)
}
