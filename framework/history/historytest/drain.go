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

// AsRecording makes the record one of a recording of the same cluster: without faults, evictions and steps of the harness's own, with the
// phases Steady and Drained alone. Services are those behind which its requests end, as namespace/name; none: it is without load.
func (b *Builder) AsRecording(services ...string) *Builder {
	b.Header(func(h *history.Header) {
		h.Recorded = &history.Recorded{Services: services}
		if len(services) > 0 {
			h.Recorded.Load = history.LoadInside
		}
		h.Mutant, h.Promises = nil, nil
	})
	return b.DropEvents(func(e history.Event) bool {
		phase := e.Phase != nil && e.Phase.Name != history.Steady && e.Phase.Name != history.Drained
		return phase || e.Fault != nil || e.Eviction != nil || e.Step != nil || e.Reach != nil
	})
}

// Unsupported turns Healthy into the record of a fault that the environment does not support: nothing was disturbed.
func Unsupported(b *Builder, why string) *Builder {
	b.DropEvents(func(e history.Event) bool {
		object := e.Pod != nil || e.Node != nil || e.Workload != nil || e.Slice != nil || e.Budget != nil
		return e.Fault != nil || e.Eviction != nil || object && e.T >= DisturbedAt
	})
	failed := "latency: " + why
	b.Fault(InjectingAt, history.FaultMark{Name: "latency", Stage: history.Injecting})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Seen, Error: failed, NotSupported: why})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Healing})
	b.Fault(SeenAt, history.FaultMark{Name: "latency", Stage: history.Healed})
	return b.Trouble(SeenAt, "play the scenario: "+failed)
}
