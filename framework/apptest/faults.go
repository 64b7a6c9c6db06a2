package apptest

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// DefaultFaults are what every application meets: its own releases, the maintenance of nodes, and the death of one.
var DefaultFaults = []string{"rollout", "drain", "delete-pod", "scale", "node-kill"}

// Disruption is something that is done to an application, and what is promised meanwhile.
type Disruption struct {
	noun string // "a rolling update and its rollback"
	// claim, if set, is the whole claim, with %s for the workload.
	claim string
	make  func(app.Workload) scenario.Spec
}

// draft is a scenario whose claim is not filled in yet.
type draft struct {
	scenario.Spec
	claim string
}

func (d Disruption) scenario(w app.Workload) draft { return draft{d.make(w), d.claim} }

// drainLimit is how long a drain is tried. An application that ends slowly has that long for each of its pods on the node.
const drainLimit = 2 * time.Minute

// deadFor is how long a killed node stays dead: longer than it takes Kubernetes to notice, with the timings of the lab.
const deadFor = 18 * time.Second

// Faults are the disruptions that a test can name.
var Faults = map[string]Disruption{
	"rollout": {noun: "a rolling update and its rollback", make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.Rollout{}}, Promises: noneFails()}
	}},
	"drain": {noun: "the drain of a node", make: func(w app.Workload) scenario.Spec {
		return scenario.Spec{
			Faults:   []fault.Fault{fault.TryDrain{For: drainLimit}},
			Promises: append(noneFails(), invariant.DrainCompletes{Workload: w.Name}),
		}
	}},
	"delete-pod": {noun: "the deletion of a pod", make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.PodDelete{Count: 1}}, Promises: noneFails()}
	}},
	"scale": {noun: "scaling up, down and back", make: func(w app.Workload) scenario.Spec {
		replicas := int(w.Replicas)
		return scenario.Spec{Faults: []fault.Fault{fault.Scale{Through: []int{replicas + 1, max(1, replicas-1)}}}, Promises: noneFails()}
	}},
	"node-kill": {claim: "after a node with pods of %s is killed, only their share of the requests fails, and only until Kubernetes must have noticed",
		make: lost(fault.NodeKill{})},
	"freeze": {claim: "after a node with pods of %s hangs, only their share of the requests fails, and only until Kubernetes must have noticed",
		make: lost(fault.NodePause{})},
	"partition": {claim: "after a node with pods of %s is cut off from the network, only their share of the requests fails, and only until " +
		"Kubernetes must have noticed", make: lost(fault.Partition{})},
	"shutdown": {claim: "an orderly shutdown of a node with pods of %s that was not drained costs no more than a lost node", make: lost(fault.NodeStop{})},
	"zone-outage": {claim: "after a zone with pods of %s is lost, only their share of the requests fails, and only until Kubernetes must have noticed",
		make: lost(fault.ZoneOutage{})},
	"memory-pressure": {claim: "when a kubelet short of memory evicts pods of %s, only their share of the requests fails, and none later than 5 s " +
		"after the last eviction", make: pressed(fault.NodePressure{})},
	"disk-pressure": {claim: "when a kubelet short of disk evicts pods of %s, only their share of the requests fails, and none later than 5 s " +
		"after the last eviction", make: pressed(fault.NodePressure{Disk: true})},
	"kubelet":    {noun: "a minute without the kubelet of a node", make: away(fault.Kubelet, time.Minute)},
	"containerd": {noun: "half a minute without the container runtime of a node", make: away(fault.Containerd, componentAway)},
	"coredns":    {noun: "half a minute without the cluster's DNS", make: away(fault.CoreDNS, componentAway)},
	"apiserver":  {noun: "half a minute without an API server", make: away(fault.APIServer, componentAway)},
	"etcd":       {noun: "half a minute without etcd", make: away(fault.Etcd, componentAway)},
}

const (
	// componentAway is how long a component is away.
	componentAway = 30 * time.Second
	// pressure is how long a node stays under pressure after its evictions, and evicted how soon after them failures must have ended.
	pressure = 8 * time.Second
	evicted  = 5 * time.Second
)

// lost is a fault that takes nodes away, as when they die.
func lost(f fault.Fault) func(app.Workload) scenario.Spec {
	return func(app.Workload) scenario.Spec {
		return scenario.Spec{
			Faults: []fault.Fault{f}, Hold: deadFor, Promises: []invariant.Invariant{invariant.FailuresEndWithin{}}, About: 80 * time.Second,
		}
	}
}

// pressed is a fault by which a kubelet evicts the pods of its node.
func pressed(f fault.Fault) func(app.Workload) scenario.Spec {
	return func(app.Workload) scenario.Spec {
		return scenario.Spec{
			Faults: []fault.Fault{f}, Hold: pressure, Promises: []invariant.Invariant{invariant.FailuresEndWithin{Limit: evicted}}, About: 80 * time.Second,
		}
	}
}

// away is a component of the cluster that is not there for a time.
func away(c fault.Component, span time.Duration) func(app.Workload) scenario.Spec {
	return func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.ComponentAway{Component: c, For: span}}, Promises: noneFails(), About: span + time.Minute}
	}
}

// FaultNames are the names of Faults, in order.
func FaultNames() []string { return slices.Sorted(maps.Keys(Faults)) }

func noneFails() []invariant.Invariant { return []invariant.Invariant{invariant.NoFailedRequests{}} }
