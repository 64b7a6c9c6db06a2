package historytest

import (
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// drain adds the fault of Healthy: cordon, eviction, replacement, uncordon.
func (b *Builder) drain() {
	mark := history.FaultMark{Name: "drain one worker", Nodes: []string{DrainedNode}, Pods: []string{Victim}}
	stages := []struct {
		at      history.Offset
		stage   history.FaultStage
		witness string
	}{
		{InjectingAt, history.Injecting, ""},
		{SeenAt, history.Seen, "the API server shows w1 as unschedulable"},
		{HealingAt, history.Healing, ""},
		{HealedAt, history.Healed, "the API server shows w1 as schedulable"},
	}
	for _, s := range stages {
		m := mark
		m.Stage, m.Witness = s.stage, s.witness
		if s.stage == history.Injecting {
			m.Nodes, m.Pods = nil, nil // known from Seen on
		}
		b.Fault(s.at, m)
	}
	b.cordon()
	b.replaceVictim()
}

func (b *Builder) cordon() {
	off := ReadyNode(DrainedNode, ZoneOf(DrainedNode))
	off.Change, off.Unschedulable = history.Modified, true
	off.Taints = []string{"node.kubernetes.io/unschedulable=:NoSchedule"}
	on := ReadyNode(DrainedNode, ZoneOf(DrainedNode))
	on.Change = history.Modified
	b.Node(SeenAt, off).Node(HealedAt, on)
}

// replaceVictim evicts Victim, creates and binds Replacement, and adds matching events of slice, budget and workload.
func (b *Builder) replaceVictim() {
	const bindingTakes = 10 * time.Millisecond
	old := ReadyPod(Victim, DrainedNode, history.Modified)
	old.Deleting, old.Disruption = true, "EvictionByEvictionAPI"
	b.Eviction(EvictedAt, history.Eviction{Pod: Victim, UID: old.UID, Accepted: true})
	b.Pod(EvictedAt, old)

	pending := ReadyPod(Replacement, "", history.Added)
	pending.IP, pending.Phase, pending.Ready = "", "Pending", false
	bound := pending
	bound.Change, bound.Node = history.Modified, "w2"
	b.Pod(EvictedAt, pending).Pod(EvictedAt+bindingTakes, bound)
	b.Workload(EvictedAt, BackendWorkload(Replicas-1, Replicas)).Budget(EvictedAt, BackendBudget(Replicas-1, 0))
	slice := backendSlice(history.Modified)
	slice.Endpoints[0].Ready, slice.Endpoints[0].Terminating = false, true
	b.Slice(EvictedAt+bindingTakes, slice)

	ready := ReadyPod(Replacement, "w2", history.Modified)
	b.Pod(ReplacedAt, ready)
	b.Workload(ReplacedAt, BackendWorkload(Replicas, Replicas)).Budget(ReplacedAt, BackendBudget(Replicas, 1))
	slice.Endpoints = append(slices.Clone(slice.Endpoints), history.Endpoint{
		IP: ready.IP, Pod: ready.Name, Node: ready.Node, Ready: true, Serving: true,
	})
	b.Slice(ReplacedAt, slice)

	gone := old
	gone.Change, gone.Phase, gone.Ready = history.Deleted, "Succeeded", false
	b.Pod(GoneAt, gone)
	slice.Endpoints = slices.Clone(slice.Endpoints[1:])
	b.Slice(GoneAt, slice)
}
