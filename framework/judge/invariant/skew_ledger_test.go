package invariant_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// evenly is six pods, backend-1 to backend-6, two in each of the zones: 1 and 4 in a, 2 and 5 in b, 3 and 6 in c. Nobody
// has made a skew of more than 1 yet.
func evenly() *stepped { return newStepped().to("w1", "w3", "w5", "w2", "w4", "w6") }

// leave has pods go in a way of their own.
func (s *stepped) leave(edit func(*history.Pod), numbers ...int) *stepped {
	for _, n := range numbers {
		p := s.pods[fmt.Sprintf("backend-%d", n)]
		p.Change = history.Modified
		edit(&p)
		s.Pod(s.at, p)
		s.at += 100 * ms
	}
	return s
}

func going(reason string) func(*history.Pod) {
	return func(p *history.Pod) { p.Deleting, p.Disruption = true, reason }
}

// wanting has the workload want so many replicas.
func (s *stepped) wanting(replicas int) *stepped {
	s.Workload(s.at, workload(replicas, 6, 6, false))
	s.at += 100 * ms
	return s
}

func (s *stepped) later() *stepped {
	s.at += 2 * second
	return s
}

// noted has a controller say that it deleted a pod.
func (s *stepped) noted(message string) *stepped {
	s.Event(history.Event{T: s.at, KubeNote: &history.KubeNote{
		Namespace: ht.Namespace, Kind: "ReplicaSet", Name: "backend-rev1", Reason: "SuccessfulDelete", Message: message,
	}})
	return s
}

// deaf has the watch of Kubernetes Events miss what was said in the last second, or only be late with it.
func (s *stepped) deaf(bridged bool) *stepped {
	s.Event(history.Event{T: s.at, Gap: &history.Gap{What: "events", Since: s.at - second, Why: "the watch broke off", Bridged: bridged}})
	return s
}

// make adds a pod: bound by the scheduler, or made with its node.
func (s *stepped) make(revision, node string, bySpec bool) *stepped {
	s.made++
	p := ht.ReadyPod(fmt.Sprintf("backend-%d", s.made), node, history.Added)
	p.Labels = map[string]string{"app.kubernetes.io/name": ht.Deployment, ht.RevisionLabel: revision}
	s.pods[p.Name] = p
	if !bySpec {
		p.Node = ""
		s.Pod(s.at, p)
		p.Node, p.Change = node, history.Modified
	}
	s.Pod(s.at, p)
	s.at += 100 * ms
	return s
}

// edited has a node change.
func (s *stepped) edited(name, zone string, change history.Change) *stepped {
	n := ht.ReadyNode(name, zone)
	n.Change = change
	s.Node(s.at, n)
	s.at += 100 * ms
	return s
}

// TestSkewCauses: who or what made more skew than is allowed is told from the record.
func TestSkewCauses(t *testing.T) {
	const allOfA = "left w2 (a) "
	for _, c := range []struct {
		name, cause, words string // of the last change for the worse; none: there was none
		run                *stepped
	}{
		{"nobody", "", "", evenly()},
		{"the scheduler", "scheduler", "backend-8 was bound to w2 (a)", evenly().make(ht.Revision, "w1", false).make(ht.Revision, "w2", false)},
		{"past the scheduler", "nodeName", "backend-8 was made for w2 (a)", evenly().make(ht.Revision, "w1", false).make(ht.Revision, "w2", true)},
		{"an eviction", "eviction", allOfA + "by an eviction through the API", evenly().leave(going("EvictionByEvictionAPI"), 1, 4)},
		{"a kubelet", "kubelet", allOfA + "by its kubelet's eviction", evenly().leave(func(p *history.Pod) {
			p.Phase, p.Disruption = "Failed", "TerminationByKubelet"
		}, 1, 4)},
		{"preemption", "preemption", allOfA + "by preemption", evenly().leave(going("PreemptionByScheduler"), 1, 4)},
		{"the taint manager", "taintManager", allOfA + "by the taint manager", evenly().leave(going("DeletionByTaintManager"), 1, 4)},
		{"the taint manager, of a node that is lost", "lostNode", allOfA + "with its node, which was lost",
			evenly().node("w2", "Unknown", false).leave(going("DeletionByTaintManager"), 1, 4)},
		{"the garbage collector", "lostNode", allOfA + "with its node, which was lost", evenly().leave(going("DeletionByPodGC"), 1, 4)},
		{"somebody", "deletion", allOfA + "by a deletion", evenly().leave(going(""), 1, 4)},
		{"somebody, by force", "deletion", allOfA + "by a deletion", evenly().leave(func(p *history.Pod) { p.Change = history.Deleted }, 1, 4)},
		{"somebody, or a controller whose word was lost", "unknown", allOfA + "by a deletion, or by its controller: what Kubernetes said of it was lost, " +
			"as the watch of events was blind", evenly().leave(going(""), 1, 4).deaf(false)},
		{"somebody, and the watch of events was only late", "deletion", allOfA + "by a deletion", evenly().leave(going(""), 1, 4).deaf(true)},
		{"a scale-down, whatever the watch of events missed", "scaleDown", allOfA + "by the scale-down to 4 replicas", evenly().wanting(4).leave(going(""), 1, 4).deaf(false)},
		{"a reason that is not known", "deletion", allOfA + "by a deletion", evenly().leave(going("SomethingNew"), 1, 4)},
		{"a scale-down", "scaleDown", allOfA + "by the scale-down to 4 replicas", evenly().wanting(4).leave(going(""), 1, 4)},
		{"a scale-down that is told of late", "scaleDown", allOfA + "by the scale-down to 4 replicas", evenly().leave(going(""), 1, 4).wanting(4)},
		{"a scale-down, and one deletion more", "deletion", allOfA + "by a deletion", evenly().wanting(5).leave(going(""), 1).later().leave(going(""), 4)},
		{"a controller that says so", "scaleDown", allOfA + "by the scale-down to 6 replicas", evenly().noted("Deleted pod: backend-4").leave(going(""), 1, 4)},
		{"a StatefulSet's controller that says so", "scaleDown", allOfA + "by the scale-down to 6 replicas",
			evenly().noted("delete Pod backend-4 in StatefulSet backend successful").leave(going(""), 1, 4)},
		{"a rollout", "rollout", allOfA + "by the rollout", evenly().make("rev2", "w3", false).leave(going(""), 4)},
		{"a rollout that deletes first", "rollout", "", evenly().leave(going(""), 1, 4).make("rev2", "w1", false)},
		{"an eviction in the middle of a rollout", "eviction", allOfA + "by an eviction through the API",
			evenly().make("rev2", "w3", false).leave(going("EvictionByEvictionAPI"), 4)},
		{"pods that end", "ending", allOfA + "when it ended as Succeeded", evenly().leave(func(p *history.Pod) { p.Phase = "Succeeded" }, 1, 4)},
		{"other labels of pods", "relabelling", "backend-4 on w2 (a) was relabelled", evenly().leave(func(p *history.Pod) { p.Labels = nil }, 1, 4)},
		{"other labels of nodes", "relabelling", "w1 (b) was relabelled", evenly().edited("w1", "b", history.Modified).edited("w2", "b", history.Modified)},
		{"a new node", "newNode", "w7 (d) is new", evenly().edited("w7", "d", history.Added)},
		{"a node that is back", "lostNode", "w7 (d) is back, which was lost",
			newStepped().edited("w7", "d", history.Added).node7("Unknown", false).continued().node7("True", false)},
		{"a node that is opened", "closedNode", "w7 (d) takes pods again, which was closed",
			newStepped().edited("w7", "d", history.Added).node7("True", true).continued().node7("True", false)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.run.settleAs()
			v := judge.Check(c.run.Run(), invariant.Spread{TopologyKey: ht.ZoneLabel, Max: 1})
			got, want := causesOf(v), map[string]float64{}
			if c.cause != "" {
				want[c.cause] = 1
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
			if all := strings.Join(v.Evidence, "\n"); !strings.Contains(all, c.words) || c.words != "" && !strings.Contains(all, "-> 2 at ") {
				t.Errorf("%q is not in the evidence:\n%s", c.words, all)
			}
		})
	}
}

// node7 has the node of zone d change.
func (s *stepped) node7(ready string, cordoned bool) *stepped {
	n := ht.ReadyNode("w7", "d")
	n.Change, n.Ready, n.Unschedulable = history.Modified, ready, cordoned
	s.Node(s.at, n)
	s.at += 100 * ms
	return s
}

// continued goes on as evenly begins.
func (s *stepped) continued() *stepped { return s.to("w1", "w3", "w5", "w2", "w4", "w6") }

// settleAs has the workload be settled with the pods that are there.
func (s *stepped) settleAs() {
	s.later() // what is wanted from then on says nothing of what went before
	state := s.Run().StateAt(s.at)
	n := 0
	for _, p := range state.PodsOf(history.Selected(ht.Namespace, map[string]string{"app.kubernetes.io/name": ht.Deployment})) {
		switch {
		case p.Deleting:
			p.Change = history.Deleted
			s.Pod(s.at+10*ms, p)
		case !p.Ended():
			n++
		}
	}
	s.Workload(s.at+20*ms, workload(n, n, n, true))
	s.at += 200 * ms
}

// causesOf are the figures of a verdict that tell of causes.
func causesOf(v verdict.Verdict) map[string]float64 {
	causes := make(map[string]float64)
	for _, name := range slices.Sorted(maps.Keys(v.Numbers)) {
		if of, ok := strings.CutPrefix(name, "cause."); ok {
			causes[of] = v.Numbers[name]
		}
	}
	return causes
}

// TestSkewCausesOfOtherPromises: all that are about a spread tell them.
func TestSkewCausesOfOtherPromises(t *testing.T) {
	run := inTrials(evenly().make(ht.Revision, "w1", false).make(ht.Revision, "w2", false), evenly()).Run()
	for promise, want := range map[invariant.Invariant]float64{
		invariant.SpreadTrials{TopologyKey: ht.ZoneLabel, Max: 1}:                        1,
		invariant.SpreadTogether{TopologyKey: ht.ZoneLabel, Max: 1}:                      1,
		invariant.Spread{Workload: "backend-1", TopologyKey: ht.ZoneLabel, Max: 1}:       1,
		invariant.SpreadWithin{Workload: "backend-1", TopologyKey: ht.ZoneLabel, Max: 1}: 1,
		invariant.Spread{Workload: "backend-1", TopologyKey: ht.ZoneLabel, Max: 2}:       0,
	} {
		if got := causesOf(judge.Check(run, promise))["scheduler"]; got != want {
			t.Errorf("%s: %v times the scheduler, want %v", promise, got, want)
		}
	}
}

// TestSkewCausesOfPlacement: what the rules allow is the measure, and what they do not bind is told, too.
func TestSkewCausesOfPlacement(t *testing.T) {
	p := newPlacing(spreadOver(overZones, "")).each("w1", "w3", "w5", "w2", "w4")
	p.terminate(3, "w5") // c is empty, and nobody can help it
	v := check(t, p.Run(), invariant.Placement{Workload: "backend"}, verdict.Held, 0)
	if diff := cmp.Diff(map[string]float64{"deletion": 1}, causesOf(v)); diff != "" {
		t.Errorf("causes (-want +got):\n%s", diff)
	}
}
