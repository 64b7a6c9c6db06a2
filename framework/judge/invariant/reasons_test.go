package invariant_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// reasonedGolden are the real mutants that name no cause, with their reasons, an edit after which the record refutes the reason, and what it says.
var reasonedGolden = map[string]struct {
	reason judge.Reason
	edit   func(*history.Event)
	says   string
}{
	"a-budget-of-all-but-one":          {judge.Evicted, noEviction, "no eviction had been accepted"},
	"evictions-without-a-budget":       {judge.Evicted, noEviction, "no eviction had been accepted"},
	"if-healthy-budget":                {judge.Refused, noEviction, "no budget had refused an eviction"},
	"a-selector-for-each":              {judge.HasNodes, unbound, "no workload had all of its pods on nodes"},
	"all-on-one-node":                  {judge.HasNodes, unbound, "no workload had all of its pods on nodes"},
	"no-region-layer":                  {judge.HasNodes, unbound, "no workload had all of its pods on nodes"},
	"rollout-spread-by-all-revisions":  {judge.HasNodes, unbound, "no workload had all of its pods on nodes"},
	"past-the-scheduler":               {judge.PastScheduler, unbound, "the scheduler had bound the pod"},
	"affinity-policy-ignore":           {judge.NoNode, tooFull, "no pod was without a node because of where pods may be"},
	"zone-outage-taints-policy-ignore": {judge.NoNode, tooFull, "no pod was without a node because of where pods may be"},
	"policy-for-deployments-alone": {judge.Admitted, func(e *history.Event) {
		if e.Admission != nil {
			e.Admission = new(*e.Admission)
			e.Admission.Accepted = e.Admission.Against == ""
		}
	}, "no manifest that a policy must refuse had been accepted"},
	"audit-without-a-patch": {judge.NotMended, func(e *history.Event) {
		if e.Audit != nil && len(e.Audit.Findings) > 1 {
			e.Audit = &history.Audit{Namespace: e.Audit.Namespace, Workload: e.Audit.Workload}
		}
	}, "the audit found nothing that it had found before"},
}

func noEviction(e *history.Event) {
	if e.Eviction != nil {
		e.Eviction = &history.Eviction{Pod: e.Eviction.Pod}
	}
}

// podOf is a copy of the pod of an event, which can be edited.
func podOf(e *history.Event) *history.Pod {
	if e.Pod == nil {
		return &history.Pod{}
	}
	e.Pod = new(*e.Pod)
	return e.Pod
}

func unbound(e *history.Event) { podOf(e).Node = "" }

func tooFull(e *history.Event) {
	if p := podOf(e); p.Unschedulable != "" {
		p.Unschedulable = "0/9 nodes are available: 9 Insufficient cpu."
	}
}

func noImage(e *history.Event) { podOf(e).Waiting = "ImagePullBackOff" }

// TestARecordRefutesTheReasonOfAMutant: as they are, real mutants are caught for their reasons. They are not when the record shows another
// one, when their pods wait for an image, or when the reason is not known.
func TestARecordRefutesTheReasonOfAMutant(t *testing.T) {
	for _, name := range goldenRuns(t) {
		_, run := unpackGolden(t, name)
		if run.Header.Mutant == nil || run.Header.Mutant.Harness {
			continue
		}
		verdicts := judge.Judge(run)
		if judge.Caught(run, verdicts).Outcome != verdict.Held {
			continue // as its golden verdict says
		}
		t.Run(name, func(t *testing.T) {
			check := func(what string, run history.Run, want verdict.Outcome, says string) {
				t.Helper()
				if got := judge.Caught(run, verdicts); got.Outcome != want || !strings.Contains(got.Seen, says) {
					t.Errorf("%s: %s: %s\nwant %s: %s", what, got.Outcome, got.Seen, want, says)
				}
			}
			check("without images", withEvents(run, noImage), verdict.Unknown, "waited for its image at")
			test, is := reasonedGolden[name]
			if !is {
				if judge.NamesCauses(run.Header.Mutant.CaughtBy) {
					return
				}
				t.Fatal("it has no reason here")
			}
			of := func(reason judge.Reason) history.Run {
				m := *run.Header.Mutant
				m.Reason = string(reason)
				named := run
				named.Header.Mutant = &m
				return named
			}
			check("as it was", of(test.reason), verdict.Held, "caught: ")
			check("another reason in the record", withEvents(of(test.reason), test.edit), verdict.Unknown, "another reason than the planted one: "+test.says)
			check("a reason of a later version", of("bad-luck"), verdict.Unknown, `does not know the reason "bad-luck"`)
			check("an older record", run, verdict.Held, "caught: ")
		})
	}
}

// mutantBy is a mutant that a promise must catch for a reason.
func mutantBy(p invariant.Invariant, reason judge.Reason, lanes ...history.Lane) func(*history.Header) {
	stored := must(invariant.Encode(p))
	return func(h *history.Header) {
		h.Promises = []history.Promise{stored}
		h.Mutant = &history.Mutant{Removed: "a practice", CaughtBy: stored.Kind, Params: stored.Params, Reason: string(reason), Lanes: lanes}
	}
}

// startsLate has a replacement that gets ready 15 s after the fault began at the earliest.
func startsLate() *ht.Builder {
	return ht.Healthy().DropEvents(func(e history.Event) bool {
		return e.T >= ht.ReplacedAt && (e.Pod != nil && e.Pod.Name == ht.Replacement || e.Workload != nil || e.Slice != nil)
	}).Pod(ht.ReplacedAt, unreadyPod(ht.Replacement, "w2")).Header(mutantBy(invariant.RecoversWithin{Limit: 15 * second, FromFault: true}, judge.StartsLate))
}

func unreadyPod(name, node string) history.Pod {
	p := ht.ReadyPod(name, node, history.Modified)
	p.Ready = false
	return p
}

// slowPods answers slowly on the lane reused, from the pods and at the times that are chosen.
func slowPods(of func(*history.Request) bool) *ht.Builder {
	return ht.Healthy().EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneReused && r.Outcome == history.OK && of(r) {
			r.Done = r.Sent + 2500*ms
		}
	}).Load(history.LaneControl, ht.Rate, ht.SteadyAt, ht.DrainedAt).
		Header(mutantBy(invariant.AnswersWithin{}, judge.SlowEnding, history.LaneReused))
}

func from(began time.Duration, pods ...string) func(*history.Request) bool {
	return func(r *history.Request) bool {
		return slices.Contains(pods, r.Pod) && r.Sent >= began && r.Sent < began+200*ms
	}
}

// TestAMutantIsCaughtByThePodsOfItsFault: the two ways in which mutants were once caught for nothing, a replacement without its image and an
// untouched pod that is slow once, and others.
func TestAMutantIsCaughtByThePodsOfItsFault(t *testing.T) {
	replaced := func(edit func(*history.Pod)) *ht.Builder {
		return startsLate().EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Name == ht.Replacement && e.T >= ht.ReplacedAt {
				edit(e.Pod)
			}
		})
	}
	kept := func(edit func(*history.Pod)) *ht.Builder {
		p := ht.ReadyPod("backend-3", "w3", history.Modified)
		edit(&p)
		return ht.Healthy().Pod(23*second, p)
	}
	api := func(nodes ...string) *ht.Builder {
		b := ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Fault != nil && e.Fault.Nodes != nil {
				e.Fault.Nodes = nodes
			}
		})
		for _, name := range []string{"cp-2", "cp-3"} {
			n := ht.ReadyNode(name, "")
			n.Labels["node-role.kubernetes.io/control-plane"] = ""
			b.Node(2*second, n)
		}
		return b
	}
	by := func(p invariant.Invariant, at history.Offset) *verdict.Verdict {
		return &verdict.Verdict{Kind: invariant.Kind(p), Outcome: verdict.Violated, At: at, Seen: "broken"}
	}
	quiet := invariant.QuietWithin{}
	resized, only := invariant.ResizedInPlace{}, invariant.PressureLeaves{}
	evicted := invariant.BudgetHonoured{}
	shared, answers := invariant.SharesLoad{}, invariant.APIAnswersWithin{}
	cpu := func(cpu string, restarts int) func(*history.Pod) {
		return func(p *history.Pod) { p.CPU, p.Restarts = cpu, restarts }
	}
	for name, test := range map[string]struct {
		run  *ht.Builder
		by   *verdict.Verdict // nil: that of the record
		want verdict.Outcome
	}{
		"it starts late": {startsLate(), nil, verdict.Held},
		"its replacement has no image": {replaced(func(p *history.Pod) { p.Phase, p.Waiting = "Pending", "ImagePullBackOff" }), nil,
			verdict.Unknown},
		"its image is being fetched": {replaced(func(p *history.Pod) { p.Phase, p.Waiting = "Pending", "ContainerCreating" }), nil,
			verdict.Unknown},
		"it crashes": {replaced(func(p *history.Pod) { p.Waiting = "CrashLoopBackOff" }), nil, verdict.Unknown},
		"it has no node": {replaced(func(p *history.Pod) { p.Node, p.Phase, p.Unschedulable = "", "Pending", "Insufficient cpu" }), nil,
			verdict.Unknown},
		"another pod is not ready":      {startsLate().Pod(20*second, unreadyPod("backend-3", "w3")), nil, verdict.Unknown},
		"only another pod is not ready": {replaced(func(p *history.Pod) { p.Ready = true }).Pod(20*second, unreadyPod("backend-3", "w3")), nil, verdict.Unknown},
		"only an endpoint is missing":   {replaced(func(p *history.Pod) { p.Ready = true }), nil, verdict.Unknown},

		"a pod that ends is slow":  {slowPods(from(16800*ms, ht.Victim)), nil, verdict.Held},
		"another pod is slow once": {slowPods(from(25*second, "backend-3")), nil, verdict.Unknown},
		"its replacement is slow":  {slowPods(from(25*second, ht.Replacement)), nil, verdict.Unknown},

		"a resized pod restarts":              {kept(cpu("25m", 1)).Header(mutantBy(resized, judge.Restarted)), by(resized, 25*second), verdict.Held},
		"a pod restarts that was not resized": {kept(cpu("", 1)).Header(mutantBy(resized, judge.Restarted)), by(resized, 25*second), verdict.Unknown},
		"all pods are ready":                  {ht.Healthy().Header(mutantBy(shared, judge.AllReady)), by(shared, 25*second), verdict.Held},
		"a new pod is not ready":              {startsLate().Header(mutantBy(shared, judge.AllReady)), by(shared, 25*second), verdict.Unknown},
		"pods are on several nodes":           {ht.Healthy().Header(mutantBy(only, judge.OneNode)), by(only, 25*second), verdict.Unknown},
		"all pods are on one node": {ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				e.Pod.Node = ht.DrainedNode
			}
		}).Header(mutantBy(only, judge.OneNode)), by(only, 25*second), verdict.Held},
		"a pod waits for a node while others are evicted": {replaced(func(p *history.Pod) { p.Node, p.Phase, p.Unschedulable = "", "Pending", "Insufficient cpu" }).
			Header(mutantBy(evicted, judge.Evicted)), by(evicted, 25*second), verdict.Unknown},
		"evicted, and an untouched pod is not ready": {ht.Healthy().Pod(16*second, unreadyPod("backend-3", "w3")).Header(mutantBy(evicted, judge.Evicted)),
			by(evicted, ht.EvictedAt), verdict.Unknown},
		"evicted":                              {ht.Healthy().Header(mutantBy(evicted, judge.Evicted)), by(evicted, ht.EvictedAt), verdict.Held},
		"reached while it ends":                {ht.Healthy().Header(mutantBy(quiet, judge.StillReached)), by(quiet, 20*second), verdict.Held},
		"reached although nothing ends":        {ht.Healthy().Header(mutantBy(quiet, judge.StillReached)), by(quiet, 25*second), verdict.Unknown},
		"resized, restarted, and resized back": {kept(cpu("25m", 1)).Pod(29*second, resizedBack()).Header(mutantBy(resized, judge.Restarted)), by(resized, 25*second), verdict.Held},
		"the other workload is elsewhere": {ht.Healthy().EditEvents(func(e *history.Event) {
			if e.Pod != nil {
				e.Pod.Node = ht.DrainedNode
			}
		}).Workload(3*second, gatewayWorkload()).Pod(3*second, gatewayPod()).
			Header(mutantBy(invariant.PressureLeaves{Workload: "backend"}, judge.OneNode)), by(only, 25*second), verdict.Held},
		"one control plane of three":  {api("cp-2").Header(mutantBy(answers, judge.NoQuorum)), by(answers, 0), verdict.Unknown},
		"two control planes of three": {api("cp-2", "cp-3").Header(mutantBy(answers, judge.NoQuorum)), by(answers, 0), verdict.Held},
	} {
		t.Run(name, func(t *testing.T) {
			run := test.run.Run()
			verdicts := judge.Judge(run)
			if test.by != nil {
				verdicts = []verdict.Verdict{*test.by}
			} else if verdicts[0].Outcome != verdict.Violated {
				t.Fatalf("nothing is broken: %s: %s", verdicts[0].Outcome, verdicts[0].Seen)
			}
			outcome(t, judge.Caught(run, verdicts), test.want)
		})
	}
}

// resizedBack is the pod that kept resizes, as it is after the revert.
func resizedBack() history.Pod {
	p := ht.ReadyPod("backend-3", "w3", history.Modified)
	p.CPU, p.Restarts = "", 1
	return p
}

// gatewayWorkload is another workload than the one that is tested, and gatewayPod its pod.
func gatewayWorkload() history.Workload {
	w := ht.BackendWorkload(1, 1)
	w.Name, w.Selector = "gateway", map[string]string{"app.kubernetes.io/name": "gateway"}
	return w
}

func gatewayPod() history.Pod {
	p := ht.ReadyPod("gateway-1", "w5", history.Listed)
	p.Labels = map[string]string{"app.kubernetes.io/name": "gateway"}
	return p
}
