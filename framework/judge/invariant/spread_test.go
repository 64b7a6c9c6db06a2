package invariant_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// stepped is the record of a workload whose settled states are given: each state names the node of each pod. What
// leaves goes first, then what comes is created; half a second lies between two steps, and a fault spans all of them.
type stepped struct {
	*ht.Builder
	at       history.Offset
	pods     map[string]history.Pod
	made     int
	revision string
	set      bool // it is a StatefulSet
}

func newStepped() *stepped {
	b := ht.New().Phase(history.Provision, 0).Phase(history.Deploy, 2*second).Phase(history.Steady, 10*second)
	b.Phase(history.Disturbed, 11*second).Phase(history.Recovered, 50*second).Phase(history.Drained, 55*second)
	for i, stage := range []history.FaultStage{history.Injecting, history.Seen, history.Healing, history.Healed} {
		b.Fault([]history.Offset{11 * second, 40 * second, 41 * second, 49 * second}[i], history.FaultMark{Name: "scale", Stage: stage})
	}
	for i := range 6 {
		node := fmt.Sprintf("w%d", i+1)
		b.Node(2*second, ht.ReadyNode(node, ht.ZoneOf(node)))
	}
	b.Node(2*second, history.Node{Change: history.Listed, Name: "cp", Ready: "True", Labels: map[string]string{ht.HostLabel: "cp", ht.ZoneLabel: "z"},
		Taints: []string{"node-role.kubernetes.io/control-plane=:NoSchedule"}})
	return &stepped{Builder: b, at: 3 * second, pods: make(map[string]history.Pod), revision: ht.Revision}
}

func workload(replicas, ready, total int, observed bool) history.Workload {
	w := ht.BackendWorkload(ready, total)
	w.Replicas, w.Updated, w.Observed = replicas, min(total, replicas), observed
	return w
}

// to brings the workload to one pod on each of the nodes, a node may be named more than once.
func (s *stepped) to(nodes ...string) *stepped {
	before := len(s.pods)
	s.Workload(s.at, workload(len(nodes), before, before, false))
	s.at += 100 * ms
	missing := slices.Clone(nodes)
	for _, name := range podNames(s.pods) {
		p := s.pods[name]
		if i := slices.Index(missing, p.Node); i >= 0 && p.Labels[ht.RevisionLabel] == s.revision {
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		p.Change, p.Deleting = history.Modified, true
		s.Pod(s.at, p)
		p.Change = history.Deleted
		s.Pod(s.at+50*ms, p)
		delete(s.pods, name)
	}
	s.at += 100 * ms
	for _, node := range missing {
		s.made++
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", s.made), node, history.Added)
		p.Labels = map[string]string{"app.kubernetes.io/name": ht.Deployment, ht.RevisionLabel: s.revision}
		s.pods[p.Name] = p
		starting := p
		starting.Ready, starting.Node = false, ""
		s.Pod(s.at, starting)
		p.Change = history.Modified
		starting.Change, starting.Node = history.Modified, node
		s.Pod(s.at, starting)
		s.Pod(s.at+50*ms, p)
	}
	s.at += 100 * ms
	s.Workload(s.at, workload(len(nodes), len(nodes), len(nodes), true))
	s.at += 200 * ms
	return s
}

// node has a node change at the present step.
func (s *stepped) node(name, ready string, cordoned bool) *stepped {
	n := ht.ReadyNode(name, ht.ZoneOf(name))
	n.Change, n.Ready, n.Unschedulable = history.Modified, ready, cordoned
	s.Node(s.at, n)
	s.at += 100 * ms
	return s
}

func podNames(pods map[string]history.Pod) (names []string) {
	for name := range pods {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestSpread(t *testing.T) {
	zones := invariant.Spread{Workload: "backend", TopologyKey: ht.ZoneLabel, Max: 1}
	hosts := invariant.Spread{TopologyKey: ht.HostLabel, Max: 1}
	one := func() *stepped { return newStepped().to("w1", "w3", "w5") }
	roll := one()
	roll.revision = "rev2"
	for _, s := range []struct {
		name    string
		run     *stepped
		promise invariant.Invariant
		outcome verdict.Outcome
		at      history.Offset
	}{
		{"held at every step of a scale", newStepped().to("w1").to("w1", "w3").to("w1", "w3", "w5").to("w1", "w3", "w5", "w2").
			to("w1", "w3", "w5", "w2", "w4").to("w1", "w3", "w5", "w2", "w4", "w6").to("w1", "w3", "w5", "w2", "w4", "w6", "w1").to("w1", "w3"),
			zones, verdict.Held, 0},
		{"held over nodes, the control plane left out", newStepped().to("w1", "w3", "w5").to("w1", "w2", "w3", "w4", "w5", "w6", "w6"), hosts, verdict.Held, 0},
		{"bad from the beginning", newStepped().to("w1", "w2", "w3"), zones, verdict.Violated, 3300 * ms},
		{"bad after a scale-up", one().to("w1", "w2", "w1", "w3", "w5"), zones, verdict.Violated, 3800 * ms},
		{"bad after a scale-down", newStepped().to("w1", "w2", "w3", "w4", "w5", "w6").to("w1", "w2", "w3"), zones, verdict.Violated, 3800 * ms},
		{"bad after a rollout", roll.to("w1", "w2", "w3"), zones, verdict.Violated, 3800 * ms},
		{"a lost zone makes no domain, and the states that were judged say so", one().node("w5", "Unknown", false).node("w6", "Unknown", false).to("w1", "w3", "w4"), zones, verdict.Held, 0},
		{"bad after a lost node came back", one().node("w5", "Unknown", false).to("w1", "w3", "w4", "w1").node("w5", "True", false).to("w1", "w3", "w4", "w1"),
			zones, verdict.Violated, 3900 * ms},
		{"bad after a drained node came back", newStepped().to("w1", "w2", "w3", "w4", "w5", "w6").node("w1", "True", true).
			to("w2", "w2", "w3", "w4", "w5", "w6").node("w1", "True", false), hosts, verdict.Violated, 4100 * ms},
		{"a pod that is going is not settled", one().terminating("backend-1"), zones, verdict.Unknown, 0},
		{"a number of replicas that never settled", one().asked(5), zones, verdict.Unknown, 0},
		{"never settled", newStepped().asked(5), zones, verdict.Unknown, 0},
		{"no such workload", newStepped(), zones, verdict.Unknown, 0},
		{"no workload", newStepped(), hosts, verdict.Unknown, 0},
		{"two workloads, none named", one().second(), hosts, verdict.Unknown, 0},
		{"two workloads, one named", one().second(), zones, verdict.Held, 0},
		{"no domains", one(), invariant.Spread{TopologyKey: "rack", Max: 1}, verdict.Unknown, 0},
		{"no replicas", newStepped().to(), zones, verdict.Unknown, 0},
	} {
		t.Run(s.name, func(t *testing.T) { check(t, s.run.Run(), s.promise, s.outcome, s.at) })
	}
}

// terminating has a pod begin to go, and stay.
func (s *stepped) terminating(name string) *stepped {
	p := s.pods[name]
	p.Change, p.Deleting = history.Modified, true
	s.Pod(s.at, p)
	return s
}

// asked has a number of replicas wanted that never come.
func (s *stepped) asked(replicas int) *stepped {
	s.Workload(s.at, workload(replicas, len(s.pods), len(s.pods), true))
	return s
}

// second adds another Deployment.
func (s *stepped) second() *stepped {
	w := ht.BackendWorkload(0, 0)
	w.Name, w.Selector, w.Replicas = "gateway", map[string]string{"app.kubernetes.io/name": "gateway"}, 0
	s.Workload(s.at, w)
	return s
}

// TestSpreadSkewedStreams: the steps of a scale are seen settled although one watch tells of them after the other has
// gone on to the next; halfway through a rollout nothing is settled.
func TestSpreadSkewedStreams(t *testing.T) {
	zones := invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1}
	late := func(s *stepped, by history.Offset, kind func(history.Event) bool) *stepped {
		s.EditEvents(func(e *history.Event) {
			if kind(*e) && e.T > 3500*ms {
				e.T += by
			}
		})
		return s
	}
	steps := func() *stepped { return newStepped().to("w1").to("w1", "w3").to("w1", "w3", "w5").to("w1", "w3") }

	isPod := func(e history.Event) bool { return e.Pod != nil }
	isWorkload := func(e history.Event) bool { return e.Workload != nil }
	for _, by := range []history.Offset{0, 100 * ms, 250 * ms, 450 * ms} { // steps last 500 ms
		check(t, late(steps(), by, isPod).Run(), zones, verdict.Held, 0)
		check(t, late(steps(), by, isWorkload).Run(), zones, verdict.Held, 0)
	}
	check(t, late(steps(), 2*second, isPod).Run(), zones, verdict.Unknown, 0)

	half := newStepped().to("w1", "w3", "w5")
	half.Workload(half.at, workload(3, 3, 3, false))
	half.revision = "rev2" // one pod replaced, on a node that makes the spread bad, and then again
	half.at += 100 * ms
	replace(half, "backend-3", "w2")
	half.at += 100 * ms
	replace(half, "backend-4", "w6")
	half.Workload(half.at+second, workload(3, 3, 3, true))
	check(t, half.Run(), zones, verdict.Held, 0)
}

// replace has a pod go, and another be ready on a node.
func replace(s *stepped, name, node string) {
	p := s.pods[name]
	p.Change = history.Deleted
	s.Pod(s.at, p)
	delete(s.pods, name)
	s.made++
	p = ht.ReadyPod(fmt.Sprintf("backend-%d", s.made), node, history.Added)
	p.Labels[ht.RevisionLabel] = s.revision
	s.pods[p.Name] = p
	s.Pod(s.at+20*ms, p)
}

func TestSpreadNodeSelector(t *testing.T) {
	s := newStepped().to("w1", "w3")
	s.EditEvents(func(e *history.Event) {
		if e.Workload != nil {
			e.Workload.NodeSelector = map[string]string{"pool": "a"}
		}
		if e.Node != nil && slices.Contains([]string{"w1", "w3"}, e.Node.Name) {
			e.Node.Labels["pool"] = "a"
		}
	})
	check(t, s.Run(), invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 0}, verdict.Held, 0)
}

func TestSpreadEvidence(t *testing.T) {
	run := newStepped().to("w1", "w3", "w5").node("w5", "Unknown", false).to("w1", "w3", "w4").to("w1", "w2", "w3", "w4").Run()
	v := judge.Check(run, invariant.Spread{TopologyKey: ht.HostLabel, Max: 2})
	lines(t, v)
	numbers(t, v, map[string]float64{"settledStates": 3, "badStates": 0, "largestSkew": 1, "allowedSkew": 2, "domains": 6})
	v = judge.Check(run, invariant.Spread{TopologyKey: ht.HostLabel, Max: 0})
	numbers(t, v, map[string]float64{"badStates": 3})
	lines(t, v)
}
