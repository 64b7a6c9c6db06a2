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

// pages adds a Service web with the pods web-8 and web-9 on two nodes, and lets the lane fresh be that of its clients: the fault is that of the
// backend, which web may need.
func pages(b *ht.Builder, nodes ...string) *ht.Builder {
	selector := map[string]string{"app.kubernetes.io/name": "web"}
	b.Workload(3*second, history.Workload{
		Change: history.Listed, Namespace: ht.Namespace, Name: "web", Selector: selector, Replicas: 2, Updated: 2, Ready: 2, Available: 2, Total: 2, Observed: true,
	})
	s := history.Slice{Change: history.Listed, Namespace: ht.Namespace, Name: "web-abcde", Service: "web"}
	names := []string{"web-8", "web-9"}
	for i, name := range names {
		p := ht.ReadyPod(name, nodes[i], history.Listed)
		p.Labels = selector
		b.Pod(3*second, p)
		s.Endpoints = append(s.Endpoints, history.Endpoint{IP: p.IP, Pod: p.Name, Node: p.Node, Ready: true, Serving: true})
	}
	return b.Slice(3*second, s).Header(func(h *history.Header) {
		h.Plan.Lanes[0].Target = "http://web.holdfast/"
	}).EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh {
			i := int(r.Seq % 2)
			r.Pod, r.Node, r.Zone, r.Revision, r.Addr = names[i], nodes[i], "", "", "10.96.0.1:80" // that of the Service
		}
	})
}

// refusedPages lets new connections of the pages' clients be refused for a time: of unknown pods, as when a Service has no endpoints.
func refusedPages(b *ht.Builder, from, to history.Offset) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Due >= from && r.Due < to {
			r.Outcome, r.Pod, r.Node = history.Refused, "", ""
		}
	})
}

// A fault in what the pages need is judged on the lane of the pages, none of whose pods it took.
func TestADependencyIsDisturbed(t *testing.T) {
	none := invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}}
	few := invariant.FewFailedRequests{Lanes: []history.Lane{history.LaneFresh}, AtMost: 3}
	ends := invariant.FailuresEndWithin{Lanes: []history.Lane{history.LaneFresh}}
	for name, test := range map[string]struct {
		run     *ht.Builder
		promise invariant.Invariant
		outcome verdict.Outcome
		want    []string
	}{
		"the pages do not notice": {pages(ht.Healthy(), "w5", "w6"), none, verdict.Held, []string{"0 of 6000 on fresh", "took no pod that received requests on lane fresh"}},
		"the pages fail":          {refusedPages(pages(ht.Healthy(), "w5", "w6"), 18*second, 20*second), none, verdict.Violated, []string{"400 of 6000 requests failed"}},
		"more than may":           {refusedPages(pages(ht.Healthy(), "w5", "w6"), 18*second, 20*second), few, verdict.Violated, []string{"no more than 3 may fail"}},
		"a lost node, and the pages do not notice": {pages(killed(), "w5", "w6"), ends, verdict.Held,
			[]string{"no request failed, through 0 pod terminations and 1 node loss, of which the victims had no endpoint of web"}},
		// None of them went to a pod on that node, however few they are.
		"a lost node, and new connections fail": {refusedPages(pages(killed(), "w5", "w6"), 16*second, 16*second+20*ms), ends, verdict.Violated,
			[]string{"more than the victims' share failed", "the victims had no endpoint of web, which with sampling error allows 0"}},
		"a lost node, and an answer is wrong": {pages(killed(), "w5", "w6").EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Seq == 1300 {
				r.Outcome, r.Status = history.BadStatus, 500
			}
		}), ends, verdict.Violated, []string{"at pods that no fault had affected"}},
		"a lost node with a page, whose share fails": {refusedPages(pages(killed(), "w3", "w6"), 17*second, 17*second+10*ms), ends, verdict.Held, []string{"too few to test the victims' share"}},
		"its victims are not named": {pages(killed(), "w5", "w6").EditEvents(func(e *history.Event) {
			if e.Fault != nil {
				e.Fault.Nodes, e.Fault.Pods = nil, nil
			}
		}), ends, verdict.Unknown, []string{"no service had an endpoint on the victims"}},
		"a page answered on the lost node, although it was no endpoint there": {pages(killed(), "w5", "w6").EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Due < killAt && r.Seq%3 == 0 {
				r.Node = "w3"
			}
		}), ends, verdict.Unknown, []string{"although they answered"}},
		"nothing was sent to the pages": {pages(ht.Healthy(), "w5", "w6").DropRequests(func(r history.Request) bool {
			return r.Lane == history.LaneFresh && r.Due >= 16*second
		}), none, verdict.Unknown, []string{"no verdict"}},
		"the dependency's own clients must have met it": {pages(ht.Healthy(), "w5", "w6").EditRequests(func(r *history.Request) {
			if r.Pod == ht.Victim {
				r.Pod, r.Node = "backend-2", "w2"
			}
		}), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneReused}}, verdict.Unknown, []string{"answered no request on reused"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), test.promise)
			text := v.Seen + "\n" + strings.Join(v.Evidence, "\n")
			if v.Outcome != test.outcome {
				t.Errorf("%s, want %s:\n%s", v.Outcome, test.outcome, text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}

// What is aimed at pods that no lane is meant to come to is no gap in the evidence of a lane that passes a front; otherwise it is one.
func TestAsideOfAFront(t *testing.T) {
	run := func(aside bool) history.Run {
		return edge(ht.Healthy(), "another", "w5", "w6").Header(func(h *history.Header) { h.Plan.Aside = aside }).Run()
	}
	for aside, want := range map[bool]verdict.Outcome{true: verdict.Held, false: verdict.Unknown} {
		if v := judge.Check(run(aside), invariant.NoFailedRequests{}); v.Outcome != want {
			t.Errorf("aside %t: %s, want %s: %s", aside, v.Outcome, want, v.Seen)
		}
	}
}
