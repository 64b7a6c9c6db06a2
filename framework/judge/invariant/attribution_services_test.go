package invariant_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// nowCauses are the causes of a run's failures, as a report counts them.
func nowCauses(t *testing.T, run history.Run) map[string]uint64 {
	t.Helper()
	causes := attribution.NewFailureCauses(run)
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		causes.Take(r)
	}
	found := map[string]uint64{}
	for _, c := range causes.Counts() {
		found[string(c.Cause)] = c.Failed
	}
	return found
}

// withACache adds a Service cache with one pod, which answers and is deleted at a moment.
func withACache(b *ht.Builder, deleted history.Offset) *ht.Builder {
	const name = "cache-8"
	p := ht.ReadyPod(name, "w2", history.Listed)
	p.Labels = map[string]string{"app.kubernetes.io/name": "cache"}
	b.Pod(3*second, p)
	end := history.Endpoint{IP: p.IP, Pod: name, Node: "w2", Ready: true, Serving: true}
	b.Slice(3*second, history.Slice{Change: history.Listed, Name: "cache-abcde", Service: "cache", Endpoints: []history.Endpoint{end}})
	for i := range uint64(100) {
		at := 11*second + time.Duration(i)*10*ms
		b.Request(history.Request{Worker: ht.Worker, Lane: "fresh@cache", Seq: i, Due: at, Sent: at, Done: at + ms, Outcome: history.OK, Status: 200, Pod: name, Node: "w2"})
	}
	p.Change, p.Deleting = history.Modified, true
	b.Pod(deleted, p)
	end.Ready, end.Serving, end.Terminating = false, false, true
	b.Slice(deleted+10*ms, history.Slice{Change: history.Modified, Name: "cache-abcde", Service: "cache", Endpoints: []history.Endpoint{end}})
	p.Change = history.Deleted
	return b.Pod(deleted+second, p)
}

// What fails on the way to one Service is not laid to the pods of another, though they end at that moment.
func TestCausesAreOfTheLanesOwnService(t *testing.T) {
	b := withACache(astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 30*second, 30300*ms, history.Refused), 30*second-100*ms)
	if diff := cmp.Diff(map[string]uint64{"unknown": 60}, nowCauses(t, b.Run())); diff != "" {
		t.Errorf("on the way to backend (-want +got):\n%s", diff)
	}
	b.Header(func(h *history.Header) { h.Plan.Lanes[0].Target = "http://cache/" })
	if diff := cmp.Diff(map[string]uint64{"outage-deletion": 60}, nowCauses(t, b.Run())); diff != "" {
		t.Errorf("on the way to cache (-want +got):\n%s", diff)
	}
}

// withdrawn lets the pods of the backend become unready, while they run, from 24 s to 30 s.
func withdrawn(b *ht.Builder, edit func(*history.Pod)) *ht.Builder {
	s := history.Slice{Change: history.Modified, Name: "backend-abcde", Service: ht.Service}
	for i := 2; i <= ht.Replicas+1; i++ {
		node := fmt.Sprintf("w%d", i)
		if i > ht.Replicas {
			node = "w2"
		}
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", i), node, history.Modified)
		back := p
		p.Ready = false
		edit(&p)
		b.Pod(24*second, p).Pod(30*second, back)
		s.Endpoints = append(s.Endpoints, history.Endpoint{IP: p.IP, Pod: p.Name, Node: node, Ready: p.Ready, Serving: p.Ready})
	}
	again := s
	again.Endpoints = nil
	for _, e := range s.Endpoints {
		e.Ready, e.Serving = true, true
		again.Endpoints = append(again.Endpoints, e)
	}
	return b.Slice(24050*ms, s).Slice(30050*ms, again)
}

func TestPodsThatWithdrawThemselves(t *testing.T) {
	silent := func(b *ht.Builder) *ht.Builder {
		return astray(b.DropRequests(func(r history.Request) bool { return r.Lane == history.LaneFresh && r.Due >= 30*second }), 24200*ms, 30*second, history.Refused)
	}
	all := silent(withACache(withdrawn(ht.Healthy(), func(*history.Pod) {}), 23*second))
	if diff := cmp.Diff(map[string]uint64{"outage-unready": 1160}, nowCauses(t, all.Run())); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
	v := judge.Check(all.Run(), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}})
	const story = "no endpoint was left: all pods had withdrawn themselves by their readiness probes (outage-unready): " +
		"6 pods of backend became unready from 24s on, 1s after pod cache-8 began to end; every endpoint was in trouble"
	if text := strings.Join(v.Evidence, "\n"); !strings.Contains(text, story) {
		t.Errorf("want\n%s\nin\n%s", story, text)
	}
	for name, edit := range map[string]func(*history.Pod){
		"one of them stays": func(p *history.Pod) { p.Ready = p.Name == "backend-3" },
		"they crash":        func(p *history.Pod) { p.Restarts = 1 },
		"they end":          func(p *history.Pod) { p.Deleting = true },
	} {
		if got := nowCauses(t, silent(withdrawn(ht.Healthy(), edit)).Run()); got["outage-unready"] > 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// offered edits the endpoint of a pod in all EndpointSlices of a time, and adds it where it is missing.
func offered(b *ht.Builder, pod, node string, from, to history.Offset, e history.Endpoint) *ht.Builder {
	e.Pod, e.Node, e.IP = pod, node, ht.ReadyPod(pod, node, history.Listed).IP
	return b.EditEvents(func(event *history.Event) {
		if event.Slice == nil || event.T < from || event.T >= to {
			return
		}
		kept := []history.Endpoint{e}
		for _, other := range event.Slice.Endpoints {
			if other.Pod != pod {
				kept = append(kept, other)
			}
		}
		event.Slice.Endpoints = kept
	})
}

func TestServicesThatOfferUnreadyPods(t *testing.T) {
	careful := history.Lifecycle{Readiness: true, PreStop: 3 * time.Second, Grace: 30 * time.Second}
	at := ht.EvictedAt
	ending := func(e history.Endpoint) *ht.Builder {
		return astray(offered(pods(ht.Healthy(), careful), ht.Victim, ht.DrainedNode, at, ht.GoneAt, e), at+3100*ms, at+3400*ms, history.Refused)
	}
	starting := func(e history.Endpoint) *ht.Builder {
		b := notBefore(pods(ht.Healthy(), careful), ht.Replacement, 21500*ms)
		return astray(offered(b, ht.Replacement, "w2", at, 21*second, e).Slice(18*second, history.Slice{}).EditEvents(func(event *history.Event) {
			if event.T == 18*second && event.Slice != nil {
				*event.Slice = history.Slice{Change: history.Modified, Namespace: ht.Namespace, Name: "backend-fghij", Service: ht.Service, Endpoints: []history.Endpoint{
					{IP: "10.0.0.7", Pod: ht.Replacement, Node: "w2", Ready: e.Ready, Serving: e.Serving},
				}}
			}
		}), 18200*ms, 18500*ms, history.Refused)
	}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want string
	}{
		"one that ends":                             {ending(history.Endpoint{Ready: true, Serving: true, Terminating: true}), "offered-unready"},
		"one that ends, as usual":                   {ending(history.Endpoint{Serving: true, Terminating: true}), "late-withdrawal"},
		"one that does not listen yet":              {starting(history.Endpoint{Ready: true}), "offered-unready"},
		"one that is not offered until it is ready": {starting(history.Endpoint{}), "unknown"},
	} {
		if got := nowCauses(t, test.b.Run()); got[test.want] == 0 || len(got) != 1 {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

// led says to which port of the pods the Service leads.
func led(b *ht.Builder, port int32) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Slice != nil {
			e.Slice.Ports = []int32{port}
		}
	})
}

// answersOf lets the victim answer so, on a connection that is known to lead to it.
func answersOf(b *ht.Builder, from, to history.Offset, outcome history.Outcome, status int) *ht.Builder {
	return cutOff(b, from, to).EditRequests(func(r *history.Request) {
		if r.Outcome == history.Reset {
			r.Outcome, r.Status = outcome, status
		}
	})
}

func TestContainersThatRequestsPass(t *testing.T) {
	at := ht.EvictedAt
	proxy := history.Container{Name: "proxy", Ports: []int32{8080}}
	sidecar := history.Container{Name: "proxy", Sidecar: true, Ports: []int32{8080}}
	app := history.Container{Name: "app", Ports: []int32{80}, PreStop: 3 * time.Second}
	hasty := history.Container{Name: "app", Ports: []int32{80}}
	shipper := history.Container{Name: "logs"}
	of := func(all ...history.Container) *ht.Builder {
		l := history.Lifecycle{Readiness: true, Grace: 30 * time.Second, Containers: all}
		for _, c := range all {
			if !c.Sidecar {
				l.PreStop = max(l.PreStop, c.PreStop)
			}
		}
		return led(pods(ht.Healthy(), l), 8080)
	}
	careful := proxy
	careful.PreStop = 3 * time.Second
	for name, test := range map[string]struct {
		b    *ht.Builder
		want string
	}{
		"refused by a proxy that ends before the application": {astray(of(proxy, app), at+100*ms, at+400*ms, history.Refused), "front-ended-first"},
		"refused while both sleep":                            {astray(of(careful, app), at+100*ms, at+400*ms, history.Refused), "unknown"},
		"refused by a pod whose logs are shipped":             {astray(of(proxy, shipper), at+100*ms, at+400*ms, history.Refused), "late-endpoint"},
		"cut by a proxy at its own SIGTERM":                   {cutOff(of(proxy, app), at+100*ms, at+200*ms), "cut-at-sigterm"},
		"503 of a sidecar whose application is gone":          {answersOf(of(hasty, sidecar), at+100*ms, at+200*ms, history.BadStatus, 503), "app-ended-first"},
		"503 of a sidecar while the application serves":       {answersOf(of(app, sidecar), at+100*ms, at+200*ms, history.BadStatus, 503), "bad-answer-while-ending"},
		"503 of a sidecar after its application's sleep":      {answersOf(of(app, sidecar), at+3100*ms, at+3200*ms, history.BadStatus, 503), "app-ended-first"},
		"503 of a proxy that outlives the application":        {answersOf(of(careful, hasty), at+100*ms, at+200*ms, history.BadStatus, 503), "app-ended-first"},
		"503 of a pod with one container":                     {answersOf(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+200*ms, history.BadStatus, 503), "bad-answer-while-ending"},
		"a cut body of a pod that ends":                       {answersOf(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+200*ms, history.Truncated, 200), "cut-at-sigterm"},
		"503 of a pod that is ready":                          {answersOf(of(hasty, sidecar), 12*second, 12100*ms, history.BadStatus, 503), "bad-answer"},
		"nobody knows which container listens":                {astray(led(of(proxy, app), 9090), at+3100*ms, at+3400*ms, history.Refused), "late-withdrawal"},
	} {
		if got := nowCauses(t, test.b.Run()); got[test.want] == 0 || len(got) != 1 {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

func TestPodsThatAreKilled(t *testing.T) {
	short := history.Lifecycle{Readiness: true, Grace: 5 * time.Second}
	last := func(killed bool) *ht.Builder {
		p := ht.ReadyPod(ht.Victim, ht.DrainedNode, history.Modified)
		p.Deleting, p.Ready, p.Phase, p.Killed = true, false, "Failed", killed
		return pods(ht.Healthy(), short).Pod(ht.GoneAt-50*ms, p)
	}
	end := ht.EvictedAt + 5*time.Second
	for name, test := range map[string]struct {
		b    *ht.Builder
		want string
	}{
		"at the end of its grace period":       {cutOff(last(true), end-100*ms, end), "killed"},
		"not killed":                           {cutOff(last(false), end-100*ms, end), "cut-at-end"},
		"killed later, and dropped at SIGTERM": {cutOff(last(true), ht.EvictedAt+100*ms, ht.EvictedAt+200*ms), "cut-at-sigterm"},
	} {
		if got := nowCauses(t, test.b.Run()); got[test.want] == 0 || len(got) != 1 {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
	}
}

// An outage that has not ended comes first, with what it began with.
func TestAnOutageThatHasNotEnded(t *testing.T) {
	failing := func(b *ht.Builder, to history.Offset) *ht.Builder {
		for _, lane := range []history.Lane{history.LaneFresh, history.LaneReused} {
			b.Fail(lane, ht.GoneAt, to, history.TimeoutConnect)
		}
		return b.EditRequests(func(r *history.Request) {
			if r.Outcome.Failed() {
				r.Pod, r.Node, r.Zone, r.Revision, r.Inferred, r.Reused, r.Addr = "", "", "", "", false, false, "10.96.0.1:80"
			}
		})
	}
	old := func(b *ht.Builder) *ht.Builder {
		return b.EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Name == ht.Victim {
				e.Pod.Labels = map[string]string{"app.kubernetes.io/name": ht.Deployment, ht.RevisionLabel: "rev0"}
			}
		})
	}
	for name, test := range map[string]struct {
		b     *ht.Builder
		cause string
		seen  string
	}{
		"since the last old pod ended": {failing(old(ht.Healthy()), never), "outage-unended",
			"every request on fresh and reused has failed since 21.995s, when the last old pod of backend ended, and still did 18s later; 7200 of 12000 requests failed"},
		"since a pod ended": {failing(ht.Healthy(), never), "outage-unended",
			"every request on fresh and reused has failed since 21.995s, when pod backend-1 ended, and still did 18s later; 7200 of"},
		"it ends":            {failing(ht.Healthy(), 39*second), "slow", "6800 of 12000 requests failed"},
		"the worker is away": {controlled(failing(ht.Healthy(), never)), "slow", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.b.Run(), invariant.NoFailedRequests{})
			if n := v.Numbers[attribution.CauseNumber+test.cause]; n == 0 && test.seen != "" || !strings.HasPrefix(v.Seen, test.seen) {
				t.Errorf("%v of %s: %s", n, test.cause, v.Seen)
			}
			if strings.Contains(v.Seen, "every request") != strings.HasPrefix(test.seen, "every") {
				t.Errorf("seen: %s", v.Seen)
			}
		})
	}
}

// controlled adds a control lane that fails as the others do.
func controlled(b *ht.Builder) *ht.Builder {
	b.Load(history.LaneControl, 20, ht.SteadyAt, ht.DrainedAt)
	return b.Fail(history.LaneControl, ht.GoneAt, never, history.TimeoutConnect)
}

// A Job's pod that has the labels of the Service is not the workload's: what fails there is mended by the selector.
func TestAPodOfAnotherOwner(t *testing.T) {
	job := func(by history.Owner, known bool) *ht.Builder {
		const name = "backup-8"
		p := ht.ReadyPod(name, "w2", history.Listed)
		p.Labels = map[string]string{"app.kubernetes.io/name": ht.Deployment}
		b := ht.Healthy().Pod(20*second, p)
		b.Slice(20*second, history.Slice{Change: history.Listed, Name: "backend-klmno", Service: ht.Service, Endpoints: []history.Endpoint{
			{IP: p.IP, Pod: name, Node: "w2", Ready: true, Serving: true},
		}})
		b.EditEvents(func(e *history.Event) {
			switch {
			case e.Pod == nil:
			case e.Pod.Name == name:
				e.Pod.Owner = by
			case by != "":
				e.Pod.Owner = history.OwnerOf("ReplicaSet", ht.Deployment+"-"+ht.Revision)
			}
		})
		return astray(pods(b, history.Lifecycle{}), 32*second, 32300*ms, history.Refused).EditRequests(func(r *history.Request) {
			if r.Outcome.Failed() && known {
				r.Pod, r.Node, r.Inferred = name, "w2", true
			}
		})
	}
	for name, test := range map[string]struct {
		by    history.Owner
		known bool
		want  string
	}{
		"of a Job":                        {"Job/backup-29", true, "foreign-pod"},
		"of a Job, and not dialled":       {"Job/backup-29", false, "foreign-pod"},
		"of no controller":                {history.NoOwner, true, "foreign-pod"},
		"of another StatefulSet":          {"StatefulSet/backup", true, "foreign-pod"},
		"of the Deployment":               {"Deployment/backend", true, "ready-too-early"},
		"in a record that names no owner": {"", true, "ready-too-early"},
	} {
		b := job(test.by, test.known)
		if got := nowCauses(t, b.Run()); got[test.want] != 60 || len(got) != 1 {
			t.Errorf("%s: %v, want %s", name, got, test.want)
		}
		v := judge.Check(b.Run(), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}})
		if text := strings.Join(v.Evidence, "\n"); strings.Contains(text, "backup-8 of "+string(test.by)) != (test.want == "foreign-pod") {
			t.Errorf("%s: %s", name, text)
		}
	}
}
