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

// nameless takes away what tells which pod answered, as a server without the headers does on a node whose connection tracking says nothing.
func nameless(b *ht.Builder, of func(history.Request) bool) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Lane != history.LaneControl && of(*r) {
			r.Pod, r.Node, r.Zone, r.Revision, r.Inferred, r.Addr = "", "", "", "", false, "10.96.0.1:80"
		}
	})
}

// noWorkload takes all workloads out of a record.
func noWorkload(b *ht.Builder) *ht.Builder {
	return b.DropEvents(func(e history.Event) bool { return e.Workload != nil })
}

// bystanding is a record in which the fault takes a pod of another workload, which answers nothing and is an endpoint of no Service.
func bystanding(name string) *ht.Builder {
	b := ht.Healthy()
	w := ht.BackendWorkload(1, 1)
	w.Name, w.Selector = name, map[string]string{"app": name}
	p := ht.ReadyPod(name+"-9", "w9", history.Listed)
	p.Labels = w.Selector
	b.Workload(3*second, w).Pod(3*second, p).Node(2*second, ht.ReadyNode("w9", "c"))
	p.Change, p.Deleting = history.Modified, true
	b.Pod(ht.EvictedAt, p).EditEvents(func(e *history.Event) {
		if e.Fault != nil {
			e.Fault.Nodes, e.Fault.Pods = nil, nil
		}
	})
	return taking(b, []string{"w9"}, []string{p.Name})
}

// canary makes that pod an endpoint of the Service of the backend, and a bare one, which no workload owns.
func canary() *ht.Builder {
	return offered(noWorkload(bystanding("canary")), "canary-9", "w9", 0, ht.EvictedAt, history.Endpoint{Ready: true, Serving: true})
}

func TestALaneOnWhichNoAnswerNamesAPodShowsNothingOfVictims(t *testing.T) {
	every := func(history.Request) bool { return true }
	on := func(lane history.Lane) func(history.Request) bool {
		return func(r history.Request) bool { return r.Lane == lane }
	}
	none, few := invariant.NoFailedRequests{}, invariant.FewFailedRequests{AtMost: 3}
	const doubt = "no answer on fresh names a recorded pod: nothing shows that requests came to backend-1, which drain one worker took"
	for name, test := range map[string]struct {
		run     *ht.Builder
		promise invariant.Invariant
		outcome verdict.Outcome
		want    string
	}{
		"of no lane":                 {nameless(ht.Healthy(), every), none, verdict.Unknown, doubt},
		"where some may fail":        {nameless(ht.Healthy(), every), few, verdict.Unknown, doubt},
		"of one lane":                {nameless(ht.Healthy(), on(history.LaneFresh)), none, verdict.Unknown, doubt},
		"of the lane that counts":    {nameless(ht.Healthy(), on(history.LaneFresh)), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}}, verdict.Unknown, doubt},
		"of a lost node":             {nameless(killed(), every), invariant.FailuresEndWithin{}, verdict.Unknown, "no answer on fresh names a recorded pod: nothing shows that requests came to backend-3, which kill one worker took"},
		"and no workload is there":   {noWorkload(nameless(ht.Healthy(), every)), none, verdict.Unknown, doubt},
		"and the URLs name nothing":  {nameless(elsewhere(ht.Healthy()), every), none, verdict.Unknown, doubt},
		"neither, and no workload":   {noWorkload(nameless(elsewhere(ht.Healthy()), every)), none, verdict.Unknown, doubt},
		"pods of another record":     {ht.Healthy().EditRequests(func(r *history.Request) { r.Pod = "of-yesterday-" + r.Pod }), none, verdict.Unknown, doubt},
		"an inference is no name":    {ht.Healthy().EditRequests(func(r *history.Request) { r.Inferred = true }), none, verdict.Unknown, doubt},
		"an endpoint of the Service": {canary(), none, verdict.Unknown, "canary-9, which drain one worker took, answered no request on fresh in the 3s before the fault"},
		// What is known without any name.
		"a simulated pod":                {bystanding("simulated"), none, verdict.Held, "drain one worker took no pod that received requests"},
		"a simulated pod, by no URL":     {elsewhere(bystanding("simulated")), none, verdict.Held, "drain one worker took no pod that received requests"},
		"a pod that no workload owns":    {noWorkload(ht.Healthy()), none, verdict.Held, "the victims of drain one worker answered 100 requests on fresh (1 of 1 pod)"},
		"the endpoints of what is asked": {nameless(pages(ht.Healthy(), "w5", "w6"), on(history.LaneFresh)), invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}}, verdict.Held, "took no pod that received requests on lane fresh"},
		"no lane is meant to meet them":  {nameless(elsewhere(ht.Healthy()).Header(func(h *history.Header) { h.Plan.Aside = true }), every), none, verdict.Held, "took no pod that received requests"},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(test.run.Run(), test.promise)
			if text := v.Seen + "\n" + strings.Join(v.Evidence, "\n"); v.Outcome != test.outcome || !strings.Contains(text, test.want) {
				t.Errorf("%s, want %s and %q:\n%s", v.Outcome, test.outcome, test.want, text)
			}
		})
	}
}

// elsewhere sends the lanes to an address that names no Service.
func elsewhere(b *ht.Builder) *ht.Builder {
	return b.Header(func(h *history.Header) {
		for i := range h.Plan.Lanes {
			h.Plan.Lanes[i].Target = ""
		}
	})
}
