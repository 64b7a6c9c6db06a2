package apptest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// DefaultFaults are what every application meets: its own releases, the maintenance of nodes, and the death of one.
var DefaultFaults = []string{"rollout", "drain", "delete-pod", "scale", "node-kill"}

// Disruption is something that is done to an application, and what is promised meanwhile.
type Disruption struct {
	class Class
	noun  string // "a rolling update and its rollback"
	// after, in place of noun, is an involuntary disruption as the beginning of a sentence, with %s for the workload; outcome is what is
	// promised of it by default, in words.
	after, outcome string
	// limit is how long after an involuntary disruption requests may fail; 0: it is predicted for a lost node.
	limit time.Duration
	make  func(app.Workload) scenario.Spec
}

// claim is what a scenario claims of a workload. Promised are its promises in words; empty: the default, which is about clients, such as " of web".
func (d Disruption) claim(w app.Workload, promised, clients string) string {
	name := w.Kind + " " + w.Name
	switch {
	case d.after != "":
		return fmt.Sprintf(d.after, name) + ", " + cmp.Or(promised, d.outcome)
	case promised != "":
		return "during " + d.noun + " of " + name + ", " + promised
	}
	return d.noun + " of " + name + " is invisible to clients" + clients
}

// drainLimit is how long a drain is tried. An application that ends slowly has that long for each of its pods on the node.
const drainLimit = 2 * time.Minute

// deadFor is how long a killed node stays dead: longer than it takes Kubernetes to notice, with the timings of the lab.
const deadFor = 18 * time.Second

// The outcomes of involuntary disruptions.
const (
	untilNoticed   = "only their share of the requests fails, and only until Kubernetes must have noticed"
	untilRestarted = "only its share of the requests fails, and none later than 5 s after its kubelet has seen that it ended"
	untilEvicted   = "only their share of the requests fails, and none later than 5 s after the last eviction"
)

// Faults are the disruptions that a test can name.
var Faults = map[string]Disruption{
	"rollout": {class: Voluntary, noun: "a rolling update and its rollback", make: func(w app.Workload) scenario.Spec {
		return scenario.Spec{
			Faults: []fault.Fault{fault.TryRollout{}}, Promises: []invariant.Invariant{invariant.RolloutCompletes{Workload: w.Name}},
		}
	}},
	"bad-image": {class: Voluntary, noun: "a rolling update to a missing image and its rollback", make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.BadRollout{Image: fault.NoSuchImage}}, Hold: unnoticed, About: 80 * time.Second}
	}},
	"config-change": {class: Voluntary, noun: "a change of the configuration and its rollback", make: func(w app.Workload) scenario.Spec {
		s := scenario.Spec{Faults: []fault.Fault{fault.ConfigChange{Config: w.Config}}, Hold: unnoticed, About: 4 * time.Minute}
		if w.Config.Rolls() {
			s.About, s.Promises = 70*time.Second, []invariant.Invariant{invariant.RolloutCompletes{Workload: w.Name}}
		}
		s.Notes = []string{configNote(w)}
		return s
	}},
	"drain": {class: Voluntary, noun: "the drain of a node", make: func(w app.Workload) scenario.Spec {
		return scenario.Spec{
			Faults: []fault.Fault{fault.TryDrain{For: drainLimit}}, Promises: []invariant.Invariant{invariant.DrainCompletes{Workload: w.Name}},
		}
	}},
	"delete-pod": {class: Voluntary, noun: "the deletion of a pod", make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.PodDelete{Count: 1}}}
	}},
	"scale": {class: Voluntary, noun: "scaling up, down and back", make: func(w app.Workload) scenario.Spec {
		replicas := int(w.Replicas)
		return scenario.Spec{Faults: []fault.Fault{fault.Scale{Through: []int{replicas + 1, max(1, replicas-1)}}}}
	}},
	"node-kill":   lost("after a node with pods of %s is killed", fault.NodeKill{}),
	"freeze":      lost("after a node with pods of %s hangs", fault.NodePause{}),
	"partition":   lost("after a node with pods of %s is cut off from the network", fault.Partition{}),
	"shutdown":    lost("after an orderly shutdown of a node with pods of %s that was not drained", fault.NodeStop{}),
	"zone-outage": lost("after a zone with pods of %s is lost", fault.ZoneOutage{}),

	"memory-pressure": pressed("when a kubelet short of memory evicts pods of %s", fault.NodePressure{}),
	"disk-pressure":   pressed("when a kubelet short of disk evicts pods of %s", fault.NodePressure{Disk: true}),
	"kill-container":  killed,

	"kubelet":    away("a minute without the kubelet of a node", fault.Kubelet, time.Minute),
	"containerd": away("half a minute without the container runtime of a node", fault.Containerd, componentAway),
	"coredns":    away("half a minute without the cluster's DNS", fault.CoreDNS, componentAway),
	"apiserver":  away("half a minute without an API server", fault.APIServer, componentAway),
	"etcd":       away("half a minute without etcd", fault.Etcd, componentAway),
}

// configNote says what a change of the configuration changes.
func configNote(w app.Workload) string {
	what := fmt.Sprintf("config-change adds a key to %s, which no program asks for, ", w.Config)
	switch {
	case w.Config.Followed:
		return what + "and rolls out, because the pod template has a checksum of its configuration."
	case w.Config.Rolls():
		return what + "and rolls out, because pods that run do not see it."
	}
	return what + "and waits until the pods have it while they run."
}

const (
	// componentAway is how long a component is away.
	componentAway = 30 * time.Second
	// unnoticed is how long a release that does not work stays before it is rolled back.
	unnoticed = 10 * time.Second
	// pressure is how long a node stays under pressure after its evictions, and evicted how soon after them failures must have ended.
	pressure = 8 * time.Second
	evicted  = 5 * time.Second
)

// lost is a fault that takes nodes away, as when they die.
func lost(after string, f fault.Fault) Disruption {
	return Disruption{class: Involuntary, after: after, outcome: untilNoticed, make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{f}, Hold: deadFor, About: 80 * time.Second}
	}}
}

// pressed is a fault by which a kubelet evicts the pods of its node.
func pressed(after string, f fault.Fault) Disruption {
	return Disruption{class: Involuntary, after: after, outcome: untilEvicted, limit: evicted, make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{f}, Hold: pressure, About: 80 * time.Second}
	}}
}

// killed is a container that crashes. Its pod stays, so the failures are those of one pod.
var killed = Disruption{
	class: Involuntary, after: "after a container of one pod of %s is killed", outcome: untilRestarted, limit: evicted,
	make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.KillContainer{}}, Hold: pressure, About: 60 * time.Second}
	},
}

// away is a component of the cluster that is not there for a time.
func away(noun string, c fault.Component, span time.Duration) Disruption {
	return Disruption{class: unharmed, noun: noun, make: func(app.Workload) scenario.Spec {
		return scenario.Spec{Faults: []fault.Fault{fault.ComponentAway{Component: c, For: span}}, About: span + time.Minute}
	}}
}

// Does says what is done to a workload.
func (d Disruption) Does() string {
	if d.after == "" {
		return d.noun
	}
	_, does, _ := strings.Cut(fmt.Sprintf(d.after, "the workload"), " ") // after, or when
	return does
}

// Promised is what is promised by default to the clients.
func (d Disruption) Promised() string {
	promised := cmp.Or(d.outcome, "no request fails, and answers take hardly longer")
	for _, p := range d.make(app.Workload{}).Promises {
		promised += "; " + p.String()
	}
	return promised
}

// FaultNames are the names of Faults, in order.
func FaultNames() []string { return slices.Sorted(maps.Keys(Faults)) }

// FaultsOf are the names of the Faults of a class, in order.
func FaultsOf(c Class) []string {
	return slices.DeleteFunc(FaultNames(), func(name string) bool { return Faults[name].class != c })
}
