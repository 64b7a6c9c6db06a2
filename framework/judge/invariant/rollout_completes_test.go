package invariant_test

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// When the parts of updated happen.
const (
	updateAt   = 20 * second
	updateOver = 95 * second
	updateEnd  = 110 * second
)

// updating is a record of three replicas in which a fault changes the template at 20 s, and its revert changes it back at 95 s. In between
// happens what is given, and three seconds after the revert the workload has settled.
func updating(between func(*ht.Builder)) *ht.Builder {
	b := ht.New().Phase(history.Provision, 0).Phase(history.Deploy, 2*second).Phase(history.Steady, 10*second)
	b.Phase(history.Disturbed, 19*second).Phase(history.Recovered, 100*second).Phase(history.Drained, updateEnd)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		b.Fault([]history.Offset{19900 * ms, 94 * second, 94900 * ms, 99 * second}[i], history.FaultMark{Name: "rolling update", Stage: stage})
	}
	b.Workload(3*second, three("old", 3, 3))
	for _, n := range []string{"1", "2", "3"} {
		b.Node(2*second, ht.ReadyNode("w"+n, ht.ZoneOf("w"+n))).Pod(3*second, ht.ReadyPod("backend-"+n, "w"+n, history.Listed))
	}
	fresh := three("new", 0, 3)
	fresh.Observed = false
	b.Workload(updateAt, fresh)
	between(b)
	back := three("old", 3, 3)
	back.Observed = false
	b.Workload(updateOver, back)
	back.Observed = true
	return b.Workload(updateOver+3*second, back)
}

// three is a Deployment of three with a template, of which so many pods are made.
func three(template string, updated, total int) history.Workload {
	w := ht.BackendWorkload(3, total)
	w.Template, w.Replicas, w.Updated = template, 3, updated
	return w
}

// replaceAll replaces all pods within six seconds.
func replaceAll(b *ht.Builder) {
	for i, n := range []string{"1", "2", "3"} {
		at := updateAt + history.Offset(2*i+1)*second
		b.Pod(at, ht.ReadyPod("backend-n"+n, "w"+n, history.Added))
		gone := ht.ReadyPod("backend-"+n, "w"+n, history.Deleted)
		b.Pod(at+second, gone).Workload(at+second, three("new", i+1, 3))
	}
}

const apart = "0/4 nodes are available: 3 node(s) didn't match pod anti-affinity rules."

// noNode makes one pod more, for which there is no node.
func noNode(b *ht.Builder) {
	p := ht.ReadyPod("backend-n1", "", history.Added)
	p.Ready, p.Phase = false, "Pending"
	b.Pod(updateAt+second, p).Workload(updateAt+second, three("new", 1, 4))
	p.Change, p.Unschedulable = history.Modified, apart
	b.Pod(updateAt+2*second, p)
	p.Change = history.Deleted
	b.Pod(updateOver+second, p)
}

// noPod creates none.
func noPod(b *ht.Builder) {
	w := three("new", 0, 3)
	w.Refused = `pods "backend-x" is forbidden: exceeded quota: team`
	b.Workload(updateAt+second, w)
}

// notYet makes a pod more, which does not become ready.
func notYet(edit func(*history.Pod)) func(*ht.Builder) {
	return func(b *ht.Builder) {
		p := ht.ReadyPod("backend-n1", "w1", history.Added)
		p.Ready = false
		edit(&p)
		b.Pod(updateAt+second, p).Workload(updateAt+second, three("new", 1, 4))
		p.Change = history.Deleted
		b.Pod(updateOver+second, p)
	}
}

func noted(kind, name, reason, message string) func(*ht.Builder) {
	return func(b *ht.Builder) {
		b.Event(history.Event{T: updateAt + 30*second, KubeNote: &history.KubeNote{
			Namespace: ht.Namespace, Kind: kind, Name: name, Type: "Warning", Reason: reason, Message: message,
		}})
	}
}

func inTurn(steps ...func(*ht.Builder)) func(*ht.Builder) {
	return func(b *ht.Builder) {
		for _, step := range steps {
			step(b)
		}
	}
}

func TestRolloutCompletes(t *testing.T) {
	p := invariant.RolloutCompletes{}

	crashes := notYet(func(p *history.Pod) { p.Restarts = 4 })
	checkAll(t, []sample{
		{"held", updating(replaceAll), p, verdict.Held, 0},
		{"no node", updating(noNode), p, verdict.Violated, updateOver},
		{"no pod", updating(noPod), p, verdict.Violated, updateOver},
		{"no image", updating(inTurn(notYet(func(p *history.Pod) { p.Waiting = "ImagePullBackOff" }), noted("Pod", "backend-n1", "Failed", "not found"))),
			p, verdict.Violated, updateOver},
		{"its liveness probe fails", updating(inTurn(crashes, noted("Pod", "backend-backend-n1", "Unhealthy", "of another"))), p, verdict.Violated, updateOver},
		{"its deadline has passed", updating(inTurn(notYet(func(*history.Pod) {}), func(b *ht.Builder) {
			w := three("new", 1, 4)
			w.Overdue = `ReplicaSet "backend-x" has timed out progressing.`
			b.Workload(updateOver-second, w)
		})), p, verdict.Violated, updateOver},
		{"a pod is not ready, and nothing says why", updating(notYet(func(*history.Pod) {})), p, verdict.Unknown, 0},
		{"it made progress half a minute ago", updating(inTurn(noNode, func(b *ht.Builder) { b.Workload(updateOver-30*second, three("new", 2, 4)) })),
			p, verdict.Unknown, 0},
		{"a watch missed what happened then", updating(noNode).Gap("pods", updateOver-500*ms, updateOver+500*ms), p, verdict.Unknown, 0},
		{"an old pod stays", updating(replaceAll).DropEvents(func(e history.Event) bool {
			return e.Pod != nil && e.Pod.Name == "backend-3" && e.Pod.Change == history.Deleted
		}), p, verdict.Unknown, 0},
		{"no pod was there before", updating(replaceAll).DropEvents(func(e history.Event) bool { return e.Pod != nil && e.T < updateAt }), p,
			verdict.Unknown, 0},
		{"nothing was updated", ht.Healthy(), p, verdict.Unknown, 0},
		{"somebody updated it before the fault", updating(replaceAll).EditEvents(func(e *history.Event) {
			if e.Workload != nil && e.Workload.Template == "old" && e.T < updateAt {
				e.Workload.Template = "new"
			}
		}), p, verdict.Unknown, 0},
		{"another workload", updating(replaceAll), invariant.RolloutCompletes{Workload: "other"}, verdict.Unknown, 0},
	})
	v := judge.Check(updating(inTurn(noNode, noted("ReplicaSet", "backend-x", "FailedCreate", "quota"))).Run(), p)
	lines(t, v)
	numbers(t, v, map[string]float64{"rollouts": 2, "stuck": 1, invariant.NoRoomNumber: 1})
}

// Of a DaemonSet, one pod goes before the next comes. Its controller has no condition for a pod that it cannot create, and Events about others say
// nothing of it; a pod of another owner with the same labels is not one of its pods.
func TestARolloutOfADaemonSet(t *testing.T) {
	onNodes := func(between func(*ht.Builder)) *ht.Builder {
		return updating(between).EditEvents(func(e *history.Event) {
			switch {
			case e.Workload != nil:
				e.Workload.DaemonSet = true
			case e.Pod != nil && e.Pod.Owner == "":
				e.Pod.Owner = history.OwnerOf("DaemonSet", ht.Service)
			}
		})
	}
	oneAway := func(b *ht.Builder) {
		b.Pod(updateAt+second, ht.ReadyPod("backend-1", "w1", history.Deleted))
		w := three("new", 0, 2)
		w.Available, w.Ready = 2, 2
		b.Workload(updateAt+2*second, w)
	}
	stranger := func(b *ht.Builder) {
		p := ht.ReadyPod("backend-x", "w1", history.Added)
		p.Owner = history.OwnerOf("Job", ht.Service)
		b.Pod(12*second, p)
	}

	checkAll(t, []sample{
		{"held", onNodes(inTurn(stranger, replaceAll)), invariant.RolloutCompletes{}, verdict.Held, 0},
		{"no pod", onNodes(inTurn(func(b *ht.Builder) {
			b.Event(history.Event{T: updateAt + second, KubeNote: &history.KubeNote{
				Namespace: ht.Namespace, Kind: "DaemonSet", Name: ht.Service, Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota: team",
			}})
		}, oneAway)), invariant.RolloutCompletes{}, verdict.Violated, updateOver},
		{"no pod of another", onNodes(inTurn(oneAway, noted("StatefulSet", "other", "FailedCreate", "exceeded quota"))), invariant.RolloutCompletes{}, verdict.Unknown, 0},
	})
}

// The rollback of an update that has ended can be stuck as well.
func TestARollbackThatDoesNotEnd(t *testing.T) {
	b := updating(replaceAll).DropEvents(func(e history.Event) bool { return e.Workload != nil && e.T > updateOver })
	b.EditEvents(func(e *history.Event) {
		if e.Phase != nil && e.Phase.Name == history.Drained {
			e.T = updateOver + 70*second
		}
	})
	w := three("old", 0, 3)
	w.Refused = "failed calling webhook"
	check(t, b.Workload(updateOver+second, w).Run(), invariant.RolloutCompletes{}, verdict.Violated, updateOver+70*second)
}

// A machine that is busy makes schedulers and controllers late.
func TestARolloutOnABusyMachineIsUnknown(t *testing.T) {
	b := updating(noNode)
	for at := updateAt; at < updateOver; at += second {
		b.Event(history.Event{T: at + second, Noise: &history.Noise{Of: "load-1", Since: at, Used: 1, CPU: 1}})
	}
	v := judge.Check(b.Run(), invariant.RolloutCompletes{})
	if v.Outcome != verdict.Unknown || v.Numbers[evidence.BusyNumber] != 1 || !strings.Contains(v.Seen, "most of the time it may come from the busy machine: from 2") {
		t.Errorf("%s: %s, %v", v.Outcome, v.Seen, v.Numbers)
	}
}
