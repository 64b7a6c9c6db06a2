package historytest

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Names in the built records.
const (
	Namespace     = "holdfast"
	Deployment    = "backend"
	Service       = "backend"
	ZoneLabel     = "topology.kubernetes.io/zone"
	HostLabel     = "kubernetes.io/hostname"
	RevisionLabel = "pod-template-hash"
	Revision      = "rev1"
)

// Times in Healthy.
const (
	SteadyAt    = 10 * time.Second
	DisturbedAt = 15 * time.Second
	InjectingAt = 15500 * time.Millisecond
	SeenAt      = 16 * time.Second
	EvictedAt   = 17 * time.Second // the victim's deletion is requested, its replacement is created
	ReplacedAt  = 19 * time.Second // the replacement is ready
	GoneAt      = 22 * time.Second // the victim is gone
	HealingAt   = 30 * time.Second
	HealedAt    = 31 * time.Second
	RecoveredAt = 35 * time.Second
	DrainedAt   = 40 * time.Second
)

// Pods and nodes of Healthy.
const (
	Replicas    = 6
	DrainedNode = "w1"
	Victim      = "backend-1" // the pod on DrainedNode
	Replacement = "backend-7" // lands on w2, in the victim's zone
)

// Rate is the number of requests per second on each of Healthy's two lanes.
const Rate = 200

// Healthy returns the record of draining a worker without any effect on clients. Lanes fresh and reused send Rate requests
// per second each from SteadyAt until DrainedAt, all OK. There are six workers w1 to w6, two in each of the zones a, b and
// c; pods backend-1 to backend-6, one on each worker; a budget with maxUnavailable 1; one fault, seen and reverted; and one
// eviction, of Victim.
func Healthy() *Builder {
	b := New().Header(func(h *history.Header) {
		h.Scenario = "chaos/drain-one-worker"
		h.Claim = "draining one worker is invisible to clients"
		h.Plan = &history.Plan{Lanes: []history.LanePlan{
			{Lane: history.LaneFresh, Target: "http://backend.holdfast/", RatePerSecond: Rate},
			{Lane: history.LaneReused, Target: "http://backend.holdfast/", RatePerSecond: Rate},
		}}
	})
	b.Phase(history.Provision, 0).Phase(history.Deploy, 2*time.Second).Phase(history.Steady, SteadyAt)
	b.Phase(history.Disturbed, DisturbedAt).Phase(history.Recovered, RecoveredAt).Phase(history.Drained, DrainedAt)
	b.cluster()
	b.drain()
	b.Load(history.LaneFresh, Rate, SteadyAt, DrainedAt)
	return b.Load(history.LaneReused, Rate, SteadyAt, DrainedAt)
}

// ZoneOf is the zone of w1 to w6: a, a, b, b, c, c; empty for other nodes.
func ZoneOf(node string) string {
	zones := map[string]string{"w1": "a", "w2": "a", "w3": "b", "w4": "b", "w5": "c", "w6": "c"}
	return zones[node]
}

// ReadyNode is a node in a zone (in none if empty), in its state at the start of Healthy.
func ReadyNode(name, zone string) history.Node {
	labels := map[string]string{HostLabel: name}
	if zone != "" {
		labels[ZoneLabel] = zone
	}
	return history.Node{Change: history.Listed, Name: name, Labels: labels, Ready: "True"}
}

// ReadyPod is a ready pod of Deployment. Its UID is "uid-" followed by the name.
func ReadyPod(name, node string, change history.Change) history.Pod {
	return history.Pod{
		Change: change, Namespace: Namespace, Name: name, UID: "uid-" + name, Node: node,
		Labels: map[string]string{"app.kubernetes.io/name": Deployment, RevisionLabel: Revision},
		IP:     "10.0.0." + name[len(name)-1:], Phase: "Running", Ready: true,
	}
}

func (b *Builder) cluster() {
	b.Node(2*time.Second, history.Node{
		Change: history.Listed, Name: "control-plane", Ready: "True",
		Labels: map[string]string{HostLabel: "control-plane", "node-role.kubernetes.io/control-plane": ""},
		Taints: []string{"node-role.kubernetes.io/control-plane=:NoSchedule"},
	})
	b.Workload(3*time.Second, BackendWorkload(Replicas, Replicas))
	b.Budget(3*time.Second, BackendBudget(Replicas, 1))
	for i := 1; i <= Replicas; i++ {
		node := fmt.Sprintf("w%d", i)
		b.Node(2*time.Second, ReadyNode(node, ZoneOf(node)))
		b.Pod(3*time.Second, ReadyPod(fmt.Sprintf("backend-%d", i), node, history.Listed))
	}
	b.Slice(3*time.Second, backendSlice(history.Listed))
}

// BackendWorkload is the Deployment with Replicas replicas and these status counts.
func BackendWorkload(ready, total int) history.Workload {
	return history.Workload{
		Change: history.Modified, Namespace: Namespace, Name: Deployment,
		Selector: map[string]string{"app.kubernetes.io/name": Deployment},
		Spread: []byte(`[{"maxSkew":1,"topologyKey":"` + ZoneLabel + `","whenUnsatisfiable":"DoNotSchedule",` +
			`"labelSelector":{"matchLabels":{"app.kubernetes.io/name":"` + Deployment + `"}}}]`),
		Replicas: Replicas, Updated: min(Replicas, total), Ready: ready, Available: ready, Total: total, Observed: true,
	}
}

// BackendBudget is a budget with maxUnavailable 1 for the Deployment, with this status.
func BackendBudget(healthy, allowed int) history.Budget {
	return history.Budget{
		Change: history.Modified, Namespace: Namespace, Name: Deployment,
		Selector: map[string]string{"app.kubernetes.io/name": Deployment}, MaxUnavailable: "1", Observed: true,
		CurrentHealthy: healthy, DesiredHealthy: Replicas - 1, ExpectedPods: Replicas, DisruptionsAllowed: allowed,
	}
}

// backendSlice has an endpoint for each of the six initial pods.
func backendSlice(change history.Change) history.Slice {
	s := history.Slice{Change: change, Namespace: Namespace, Name: "backend-abcde", Service: Service}
	for i := 1; i <= Replicas; i++ {
		p := ReadyPod(fmt.Sprintf("backend-%d", i), fmt.Sprintf("w%d", i), change)
		s.Endpoints = append(s.Endpoints, history.Endpoint{IP: p.IP, Pod: p.Name, Node: p.Node, Ready: true, Serving: true})
	}
	return s
}
