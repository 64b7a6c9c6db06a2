package invariant_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// edge is the controller of an Ingress: edge-8 and edge-9 on two nodes. Connections to its Service show its pods, and no others.
func edge(b *ht.Builder, leadsTo string, nodes ...string) *ht.Builder {
	b.Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Front = &history.Front{Name: "Ingress shop", Entries: []string{"edge"}, Backends: []string{leadsTo}}
		}
	})
	selector := map[string]string{"app.kubernetes.io/name": "edge"}
	b.Workload(3*second, history.Workload{
		Change: history.Listed, Namespace: ht.Namespace, Name: "edge", Selector: selector, Replicas: 2, Updated: 2, Ready: 2, Available: 2, Total: 2, Observed: true,
	})
	s := history.Slice{Change: history.Listed, Namespace: ht.Namespace, Name: "edge-abcde", Service: "edge"}
	names := []string{"edge-8", "edge-9"}
	for i, name := range names {
		p := ht.ReadyPod(name, nodes[i], history.Listed)
		p.Labels = selector
		b.Pod(3*second, p)
		s.Endpoints = append(s.Endpoints, history.Endpoint{IP: p.IP, Pod: p.Name, Node: p.Node, Ready: true, Serving: true})
	}
	b.Slice(3*second, s)
	return b.EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneControl {
			return
		}
		i := int(r.Seq % 2)
		r.Pod, r.Node, r.Zone, r.Revision, r.Inferred = names[i], nodes[i], "", "", false
		r.Addr = s.Endpoints[i].IP + ":80"
	})
}

// atNodePorts has all requests go to node ports of the Service, at the nodes in turn. A connection shows the node, and no pod.
func atNodePorts(b *ht.Builder) *ht.Builder {
	b.Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Front = &history.Front{Name: "the node ports of Service backend", Entries: []string{ht.Service}, Backends: []string{ht.Service}}
		}
	})
	return b.EditRequests(func(r *history.Request) {
		if r.Lane != history.LaneControl {
			r.Pod, r.Node, r.Zone, r.Revision, r.Inferred, r.Addr = "", "", "", "", false, fmt.Sprintf("172.18.0.%d:30080", 2+r.Seq%6)
		}
	})
}

// fails lets requests fail as a proxy does whose server does not answer.
func fails(b *ht.Builder, from, to history.Offset, which func(history.Request) bool) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Due >= from && r.Due < to && r.Lane != history.LaneControl && which(*r) {
			r.Outcome, r.Status = history.BadStatus, 502
		}
	})
}

// closed lets connections fail, as a node does behind whose port nothing answers.
func closed(b *ht.Builder, from, to history.Offset, which func(history.Request) bool) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Due >= from && r.Due < to && r.Lane != history.LaneControl && which(*r) {
			r.Outcome, r.Status = history.Refused, 0
		}
	})
}

func anyRequest(history.Request) bool { return true }

// sticky says of all fronts that each client comes to one pod behind them.
func sticky(b *ht.Builder) *ht.Builder {
	return b.Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Front.Sticky = "by its address"
		}
	})
}

// Behind a front, whose answers do not name the pod behind it, that requests met the victims is inferred, and said to be.
func TestThroughAFront(t *testing.T) {
	onNode := func(node string) func(history.Request) bool {
		return func(r history.Request) bool { return r.Node == node }
	}
	none, ends := invariant.NoFailedRequests{}, invariant.FailuresEndWithin{}
	for name, test := range map[string]struct {
		run      *ht.Builder
		promise  invariant.Invariant
		outcome  verdict.Outcome
		want     []string // in what was seen, or in the evidence
		unwanted string
	}{
		"held": {
			edge(ht.Healthy(), ht.Service, "w5", "w6"), none, verdict.Held,
			[]string{"got good answers through Ingress shop", "took 1 endpoint: that requests met its victims is inferred"}, "took no pod that received requests",
		},
		"it leads elsewhere": {
			edge(ht.Healthy(), "another", "w5", "w6"), none, verdict.Unknown,
			[]string{"took backend-1, and nothing shows that requests through Ingress shop on fresh came to any of them"}, "",
		},
		"each client comes to one pod of an Ingress": {
			sticky(edge(ht.Healthy(), ht.Service, "w5", "w6")), none, verdict.Unknown,
			[]string{"Ingress shop leads each client to the same pods (by its address), and drain one worker took some of them: nothing shows that requests on fresh came to these"}, "",
		},
		"each client comes to one pod of node ports": {
			sticky(atNodePorts(killed())), ends, verdict.Unknown, []string{"leads each client to the same pods (by its address), and kill one worker took some of them"}, "",
		},
		"and all pods are taken": {
			taking(sticky(atNodePorts(ht.Healthy())), []string{"w1", "w2", "w3", "w4", "w5", "w6"}, nil), none, verdict.Held,
			[]string{"took 6 endpoints: that requests met its victims is inferred"}, "leads each client",
		},
		"and its own pod is the victim, which is seen": {
			sticky(edge(ht.Healthy(), "another", ht.DrainedNode, "w6")), none, verdict.Held, []string{"the victims of", "answered"}, "leads each client",
		},
		"its own pod is the victim": {
			edge(ht.Healthy(), "another", ht.DrainedNode, "w6"), none, verdict.Held,
			[]string{"the victims of", "answered"}, "is inferred",
		},
		"it says that the victim did not answer": {
			fails(edge(ht.Healthy(), ht.Service, "w5", "w6"), ht.EvictedAt, ht.EvictedAt+500*ms, func(r history.Request) bool { return r.Seq%12 == 0 }),
			none, verdict.Violated, []string{"of 12000 requests failed", "backend-1"}, "by edge",
		},
		"a dead node with a pod of each": {
			edge(killed(), ht.Service, "w3", "w6"), ends, verdict.Held, []string{"no request failed, although the victims had answered before"}, "must name one",
		},
		"their share fails": {
			fails(edge(killed(), ht.Service, "w3", "w6"), killAt, killAt+2*second, onNode("w3")), ends, verdict.Held,
			[]string{"the victims had 1 of 2 endpoints of edge and 1 of 6 endpoints of backend", "58.3 %", "if each pod is chosen by itself"}, "must name one",
		},
		"node ports": {
			atNodePorts(ht.Healthy()), none, verdict.Held, []string{"got good answers through the node ports of Service backend", "is inferred"}, "",
		},
		"a pod behind node ports": {
			closed(atNodePorts(ht.Healthy()), ht.EvictedAt, ht.EvictedAt+500*ms, func(r history.Request) bool { return r.Seq%12 == 0 }),
			none, verdict.Violated, []string{"of 12000 requests failed", "backend-1"}, "",
		},
		"the share of a node behind node ports": { // is that of the Service, once
			closed(atNodePorts(killed()), killAt, killAt+2*second, func(r history.Request) bool { return r.Seq%6 == 1 }), ends, verdict.Held,
			[]string{"the victims had 1 of 6 endpoints of backend, 16.7 %"}, "if each pod is chosen by itself",
		},
		"twice that share": {
			closed(atNodePorts(killed()), killAt, killAt+2*second, func(r history.Request) bool { return r.Seq%3 == 1 }), ends, verdict.Violated,
			[]string{"more than the victims' share failed"}, "if each pod is chosen by itself",
		},
		"node ports of a dead node": {
			closed(atNodePorts(killed()), killAt, killAt+40*second, func(r history.Request) bool { return r.Seq%6 == 1 }), ends, verdict.Violated, nil, "",
		},
		"more than their share fails": {
			fails(edge(killed(), ht.Service, "w3", "w6"), killAt, killAt+2*second, anyRequest), ends, verdict.Violated,
			[]string{"more than the victims' share failed"}, "must name one",
		},
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
			if test.unwanted != "" && strings.Contains(text, test.unwanted) {
				t.Errorf("%q in\n%s", test.unwanted, text)
			}
		})
	}
}
