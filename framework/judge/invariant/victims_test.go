package invariant_test

import (
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// editRows returns a run whose requests were edited.
func editRows(run history.Run, edit func(*history.Request)) history.Run {
	requests := run.Requests
	run.Requests = func() iter.Seq2[*history.Request, error] {
		return func(yield func(*history.Request, error) bool) {
			for r, err := range requests() {
				if r != nil {
					edit(r)
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	return run
}

// bystander is a pod that answered in a run, other than those that were taken.
func bystander(t *testing.T, run history.Run, taken []string) (row history.Request) {
	t.Helper()
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Pod != "" && r.Lane != history.LaneControl && !slices.Contains(taken, r.Pod) {
			return *r
		}
	}
	t.Fatal("no other pod answered")
	return row
}

// TestVictimsWithoutTraffic moves requests of real runs from the pods that the fault took to a pod that it left alone: nobody
// can say then what the fault does to clients, on the lanes that were moved.
func TestVictimsWithoutTraffic(t *testing.T) {
	all := []history.Lane{history.LaneFresh, history.LaneReused}
	for _, attack := range []struct {
		golden, kind string
		moved        []history.Lane
		want         string
	}{
		{"drain-one-worker", "NoFailedRequests", all, "backend-5c8b6dfdc4-2l8nr, which drain 1 worker took, answered no request on fresh in the 3s before the fault (and 1 more reason)"},
		{"drain-one-worker", "NoFailedRequests", all[:1], "backend-5c8b6dfdc4-2l8nr, which drain 1 worker took, answered no request on fresh in the 3s before the fault"},
		{"drain-one-worker", "NoFailedRequests", all[1:], "backend-5c8b6dfdc4-2l8nr, which drain 1 worker took, answered no request on reused in the 3s before the fault"},
		{"resize-in-place", "NoFailedRequests", all[1:], "no answer on reused names a recorded pod: nothing shows that requests came to backend-8bb7d6dc9-2xb67, backend-8bb7d6dc9-7j4wp and 4 others, which resize all pods to 20m of processor time took"},
		{"kill-one-worker", "FailuresEndWithin", all[1:], "backend-6f7f76f664-t7754, which kill one worker took, answered no request on reused in the 3s before the fault"},
	} {
		t.Run(attack.golden+" on "+string(attack.moved[0]), func(t *testing.T) {
			_, run := unpackGolden(t, attack.golden)
			victims := timeline.Faults(run)[0].Pods
			other := history.Request{Pod: "backend-of-another-revision", Node: "elsewhere"}
			if attack.golden != "resize-in-place" { // which took all
				other = bystander(t, run, victims)
			}
			moved := 0
			run = editRows(run, func(r *history.Request) {
				if slices.Contains(attack.moved, r.Lane) && slices.Contains(victims, r.Pod) {
					r.Pod, r.Node, r.Zone = other.Pod, other.Node, other.Zone
					if r.Outcome.Failed() { // a connection to a pod that stays
						r.Outcome, r.Status, r.Inferred, r.Err, r.Attempts, r.Done = history.OK, 200, false, "", 1, r.Sent+ms
					}
					moved++
				}
			})
			for _, v := range judge.Judge(run) {
				if v.Kind == attack.kind && (v.Outcome != verdict.Unknown || v.Seen != "no verdict: "+attack.want) {
					t.Errorf("%s: %s, want no verdict: %s", v.Outcome, v.Seen, attack.want)
				}
			}
			if moved == 0 {
				t.Error("nothing was moved")
			}
		})
	}
}

// heldConnection gives Healthy a stream lane whose one connection leads to a pod.
func heldConnection(pod, node string) *ht.Builder {
	return ht.Healthy().Header(func(h *history.Header) {
		h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: "stream", RatePerSecond: 40})
	}).Load("stream", 40, ht.SteadyAt, ht.DrainedAt).EditRequests(func(r *history.Request) {
		if r.Lane == "stream" && (node != ht.DrainedNode || r.Due < ht.EvictedAt) {
			r.Pod, r.Node, r.Conn = pod, node, 1
		}
	})
}

// taking edits what the fault of a record took.
func taking(b *ht.Builder, nodes, pods []string) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Fault != nil && e.Fault.Stage == history.Seen {
			e.Fault.Nodes, e.Fault.Pods = nodes, pods
		}
	})
}

func TestTrafficToTheVictim(t *testing.T) {
	stream := invariant.NoFailedRequests{Lanes: []history.Lane{"stream"}}
	fresh := invariant.NoFailedRequests{Lanes: []history.Lane{history.LaneFresh}}
	without := func(drop func(history.Request) bool) *ht.Builder {
		return ht.Healthy().EditRequests(func(r *history.Request) {
			if r.Lane == history.LaneFresh && r.Pod == ht.Victim && drop(*r) {
				r.Pod, r.Node = "backend-4", "w4"
			}
		})
	}

	checkAll(t, []sample{
		{"a stream held to the victim", heldConnection(ht.Victim, ht.DrainedNode), stream, verdict.Held, 0},
		{"a stream held to a bystander", heldConnection("backend-4", "w4"), stream, verdict.Unknown, 0},
		{"a lane of six held to a bystander", heldConnection("backend-4", "w4"), invariant.NoFailedRequests{}, verdict.Unknown, 0},
		{"until four seconds before", without(func(r history.Request) bool { return r.Sent > ht.InjectingAt-4*second }), fresh,
			verdict.Unknown, 0},
		{"once, half a second before", without(func(r history.Request) bool {
			return r.Sent > ht.InjectingAt-4*second && (r.Sent < 15*second || r.Sent > 15030*ms)
		}), fresh, verdict.Held, 0},
		{"as was only inferred", ht.Healthy().EditRequests(func(r *history.Request) { r.Inferred = r.Pod == ht.Victim }), fresh,
			verdict.Unknown, 0},
		{"the victim was not ready, as the watch says", without(func(history.Request) bool { return true }).EditEvents(func(e *history.Event) {
			if e.Pod != nil && e.Pod.Name == ht.Victim {
				e.Pod.Ready = false
			}
		}), fresh, verdict.Held, 0},
		{"the victim is only named by its node", taking(ht.Healthy(), []string{ht.DrainedNode}, nil), fresh, verdict.Held, 0},
		{"the victim is only named by its node, and had no traffic",
			taking(without(func(history.Request) bool { return true }), []string{ht.DrainedNode}, nil), fresh, verdict.Unknown, 0},
		{"two victims, of which one had traffic",
			taking(without(func(history.Request) bool { return true }), []string{ht.DrainedNode}, []string{"backend-1", "backend-2"}), fresh,
			verdict.Held, 0},
		{"an eviction that was refused to a pod without traffic",
			taking(refused(without(func(history.Request) bool { return true })), []string{ht.DrainedNode}, nil),
			invariant.NoFailedRequests{Refused: true}, verdict.Unknown, 0},
	})
}

// refused is a record in which nothing was taken away, since every eviction was refused.
func refused(b *ht.Builder) *ht.Builder {
	return b.DropEvents(func(e history.Event) bool { return e.T > ht.DisturbedAt && e.Pod != nil }).EditEvents(func(e *history.Event) {
		if e.Eviction != nil {
			e.Eviction.Accepted, e.Eviction.Budget = false, "backend"
		}
	})
}

// TestEachFaultHasItsVictims: a second fault must have met traffic, too, and the figure is that of the fault with the least.
func TestEachFaultHasItsVictims(t *testing.T) {
	second2 := func(b *ht.Builder, pod, node string) *ht.Builder {
		for at, stage := range map[history.Offset]history.FaultStage{
			25 * second: history.Injecting, 26 * second: history.Seen, 27 * second: history.Healing, 28 * second: history.Healed,
		} {
			mark := history.FaultMark{ID: 1, Name: "drain another", Stage: stage}
			if stage == history.Seen {
				mark.Nodes, mark.Pods = []string{node}, []string{pod}
			}
			b.Fault(at, mark)
		}
		return b
	}
	v := judge.Check(second2(ht.Healthy(), "backend-3", "w3").Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
	numbers(t, v, map[string]float64{"victimAnswers.fresh": 100, "victimAnswers.reused": 100})
	want := "in the 3s before, the victims of drain another answered 100 requests on fresh (1 of 1 pod), 100 requests on reused (1 of 1 pod)"
	if !slices.Contains(v.Evidence, want) {
		t.Errorf("evidence %q, want %q", v.Evidence, want)
	}
	idle := second2(ht.Healthy(), "backend-3", "w3").EditRequests(func(r *history.Request) {
		if r.Pod == "backend-3" && r.Lane == history.LaneReused && r.Sent > 20*second {
			r.Pod, r.Node = "backend-4", "w4"
		}
	})
	v = judge.Check(idle.Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Unknown || !strings.Contains(v.Seen, "backend-3, which drain another took, answered no request on reused") {
		t.Errorf("%s: %s", v.Outcome, v.Seen)
	}
	numbers(t, v, map[string]float64{"victimAnswers.fresh": 100, "victimAnswers.reused": 0})
}

// TestPodsOfAGateway answer nothing in their own name: that they were on the node that was lost is known, and no row tells of it.
func TestPodsOfAGateway(t *testing.T) {
	b := killed()
	front := ht.BackendWorkload(1, 1)
	front.Name, front.Selector = "gateway", map[string]string{"app": "gateway"}
	pod := ht.ReadyPod("gateway-9", "w9", history.Listed)
	pod.Labels = map[string]string{"app": "gateway"}
	b.Workload(3*second, front).Pod(3*second, pod).Node(2*second, ht.ReadyNode("w9", "c"))
	lost := ht.ReadyNode("w9", "c")
	lost.Ready = "Unknown"
	b.Node(noticedAt, lost)
	v := judge.Check(taking(b, []string{"w9"}, nil).Run(), invariant.NoFailedRequests{})
	if v.Outcome != verdict.Held || !slices.Contains(v.Evidence, "kill one worker took no pod that received requests") {
		t.Errorf("%s: %s %q", v.Outcome, v.Seen, v.Evidence)
	}
}
