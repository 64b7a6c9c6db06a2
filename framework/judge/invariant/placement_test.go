package invariant_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// placing is the record of pods that are bound one after the other, far enough from each other that there is no doubt
// about what the scheduler knew. There are two nodes in each of the zones a, b and c, and one in z that is tainted.
type placing struct {
	*ht.Builder
	at    history.Offset
	rules string // of the pods to come
	more  map[string]string
	pods  int
}

func newPlacing(rules string) *placing {
	b := newStepped().Builder
	b.Workload(2*second, ht.BackendWorkload(0, 0))
	return &placing{Builder: b, at: 3 * second, rules: rules}
}

// settle lets time pass until all that happened so far is known to everybody.
func (p *placing) settle() *placing {
	p.at += 2 * second
	return p
}

// bind has a pod made and bound to each of the nodes. What is bound by one call is bound within the skew.
func (p *placing) bind(nodes ...string) *placing {
	for _, node := range nodes {
		p.pods++
		pod := p.made(p.pods, history.Added)
		if p.rules != "" {
			pod.Rules = []byte(p.rules)
		}
		p.Pod(p.at, pod)
		pod.Change, pod.Rules, pod.Node = history.Modified, nil, node
		p.Pod(p.at+100*ms, pod)
		p.at += 200 * ms
	}
	return p.settle()
}

func (p *placing) made(n int, change history.Change) history.Pod {
	pod := ht.ReadyPod(fmt.Sprintf("backend-%d", n), "", change)
	pod.Labels = maps.Clone(pod.Labels)
	maps.Copy(pod.Labels, p.more)
	return pod
}

// each binds pods one after the other.
func (p *placing) each(nodes ...string) *placing {
	for _, node := range nodes {
		p.bind(node)
	}
	return p
}

// by gives the pods to come other rules, and labels beside those of the Deployment.
func (p *placing) by(rules string, labels ...string) *placing {
	p.rules, p.more = rules, make(map[string]string)
	for i := 0; i < len(labels); i += 2 {
		p.more[labels[i]] = labels[i+1]
	}
	return p
}

// terminate begins to delete a pod, which then takes its time.
func (p *placing) terminate(n int, node string) *placing {
	pod := p.made(n, history.Modified)
	pod.Node, pod.Deleting = node, true
	p.Pod(p.at, pod)
	return p.settle()
}

// change has a node change.
func (p *placing) change(name string, edit func(*history.Node)) *placing {
	n := ht.ReadyNode(name, ht.ZoneOf(name))
	n.Change, n.Labels = history.Modified, maps.Clone(n.Labels)
	edit(&n)
	p.Node(p.at, n)
	return p.settle()
}

const (
	aboutBackend = `"labelSelector":{"matchLabels":{"app.kubernetes.io/name":"backend"}}`
	overZones    = `"topologyKey":"` + ht.ZoneLabel + `",` + aboutBackend
	overHosts    = `"topologyKey":"` + ht.HostLabel + `",` + aboutBackend
)

// spreadOver is a rule that says DoNotSchedule and leaves tainted nodes out, and what else is given.
func spreadOver(over, fields string) string {
	return `{"topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"Honor",` + over + fields + `}]}`
}

func affinityOver(kind, over string) string {
	return `{"affinity":{"` + kind + `":{"requiredDuringSchedulingIgnoredDuringExecution":[{` + over + `}]}}}`
}

func TestPlacement(t *testing.T) {
	zones := spreadOver(overZones, "")
	anti, with := affinityOver("podAntiAffinity", overHosts), affinityOver("podAffinity", overZones)
	const only = `"nodeSelector":{"pool":"x"},`
	const inABW2 = `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":` +
		`[{"key":"kubernetes.io/hostname","operator":"In","values":["w1","w2","w3"]}]}]}}},`
	merge := func(more, rules string) string { return "{" + more + rules[1:] }
	wide := func(policy string) string {
		return `{` + inABW2 + spreadOver(overZones, `,"nodeAffinityPolicy":"`+policy+`"`)[1:]
	}

	cordon := func(n *history.Node) { n.Unschedulable = true }
	for _, s := range []struct {
		name string
		run  *placing
		at   history.Offset // 0: held
	}{
		{"even", newPlacing(zones).each("w1", "w3", "w5", "w2", "w4", "w6"), 0},
		{"maxSkew: domains without pods count", newPlacing(zones).each("w1", "w2"), 5300 * ms},
		{"maxSkew of 2", newPlacing(spreadOver(overZones, `,"maxSkew":2`)).each("w1", "w2"), 0},
		{"a soft rule, beside a hard one", newPlacing(`{"topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"ScheduleAnyway",`+overZones+`}],`+
			anti[1:]).each("w1", "w2"), 0},
		{"minDomains: too few domains, so that the least is 0", newPlacing(spreadOver(overZones, `,"minDomains":4`)).each("w1", "w3", "w5", "w2"), 9700 * ms},
		{"minDomains: enough of them", newPlacing(spreadOver(overZones, `,"minDomains":3`)).each("w1", "w3", "w5", "w2"), 0},
		{"matchLabelKeys: another revision does not count", newPlacing(spreadOver(overZones, `,"matchLabelKeys":["rev"]`)).each("w1").
			by(spreadOver(overZones, `,"matchLabelKeys":["rev"]`), "rev", "2").each("w2"), 0},
		{"no matchLabelKeys: every revision counts", newPlacing(zones).each("w1").by(zones, "rev", "2").each("w2"), 5300 * ms},
		{"nodeTaintsPolicy Ignore: a tainted node makes a domain", newPlacing(spreadOver(overZones, `,"nodeTaintsPolicy":"Ignore"`)).
			each("w1", "w3", "w5", "w2"), 9700 * ms},
		{"nodeAffinityPolicy Honor: domains out of reach do not count", newPlacing(wide("Honor")).each("w1", "w3", "w2"), 0},
		{"nodeAffinityPolicy Ignore: they do", newPlacing(wide("Ignore")).each("w1", "w3", "w2"), 7500 * ms},
		{"a pod that is going does not count", newPlacing(zones).each("w1").terminate(1, "w1").each("w2"), 0},
		{"a pod of another selector does not count", newPlacing(zones).by(zones, "app.kubernetes.io/name", "other").each("w1").by(zones).each("w2"), 0},
		{"a rule about others only: the pod itself does not count", newPlacing(`{"topologySpreadConstraints":[{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule",`+
			`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchExpressions":[{"key":"app.kubernetes.io/name","operator":"NotIn","values":["backend"]}]}}]}`).
			each("w1", "w2"), 0},
		{"an empty selector: the pod itself counts, and none of those that are there", newPlacing(spreadOver(
			`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{}`, "")).each("w1", "w2", "w1"), 0},
		{"an empty selector with a label key is none", newPlacing("").by(spreadOver(
			`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{}`, `,"matchLabelKeys":["rev"]`), "rev", "1").each("w1", "w2"), 5300 * ms},
		{"an empty selector with a label key that the pod does not have", newPlacing(spreadOver(
			`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{}`, `,"matchLabelKeys":["rev"]`)).each("w1", "w2"), 0},
		{"a node without the key", newPlacing(zones).change("w1", func(n *history.Node) { delete(n.Labels, ht.ZoneLabel) }).each("w1"), 5100 * ms},
		{"a node without the key of another rule makes no domain", newPlacing(`{"topologySpreadConstraints":[`+
			`{"maxSkew":1,"whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"Honor",`+overZones+`},`+
			`{"maxSkew":9,"whenUnsatisfiable":"DoNotSchedule",`+overHosts+`}]}`).change("w5", func(n *history.Node) { delete(n.Labels, ht.HostLabel) }).
			change("w6", func(n *history.Node) { delete(n.Labels, ht.HostLabel) }).each("w1", "w3", "w2"), 0},

		{"anti-affinity", newPlacing(anti).each("w1", "w2", "w1"), 7500 * ms},
		{"anti-affinity, and a pod that is going is still there", newPlacing(anti).each("w1").terminate(1, "w1").each("w1"), 7300 * ms},
		{"the anti-affinity of those that are there", newPlacing(anti).each("w1").by(zones).each("w2", "w1"), 5300 * ms},
		{"the anti-affinity of those that are there, alone", newPlacing(anti).each("w1").by(`{}`).each("w2", "w1"), 7500 * ms},
		{"affinity: the first may go anywhere, the others to it", newPlacing(with).each("w1", "w2", "w1"), 0},
		{"affinity: not to the others", newPlacing(with).each("w1", "w3"), 5300 * ms},
		{"affinity: none is the first to whom it is about others", newPlacing(with).by(affinityOver("podAffinity",
			`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"app":"cache"}}`)).each("w1"), 3100 * ms},

		{"a node of another pool", newPlacing(merge(only, zones)).each("w1"), 3100 * ms},
		{"a node term with what is no label value chooses nothing", newPlacing(`{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnored` +
			`DuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"generation","operator":"NotIn","values":["-1"]}]}]}}},` + zones[1:]).
			each("w1"), 3100 * ms},
		{"a tainted node", newPlacing(zones).each("cp"), 3100 * ms},
		{"a tainted node that is tolerated", newPlacing(merge(`"tolerations":[{"operator":"Exists"}],`, zones)).each("cp"), 0},
		{"a cordoned node", newPlacing(zones).change("w1", cordon).each("w1"), 5100 * ms},
	} {
		t.Run(s.name, func(t *testing.T) {
			outcome := verdict.Held
			if s.at > 0 {
				outcome = verdict.Violated
			}
			check(t, s.run.Run(), invariant.Placement{Workload: "backend"}, outcome, s.at)
		})
	}
}

// TestPlacementWithinTheSkew: what the scheduler may not have known breaks no rule, and is told. But it knew what it had
// decided itself.
func TestPlacementWithinTheSkew(t *testing.T) {
	zones, all := spreadOver(overZones, ""), invariant.Placement{}

	v := check(t, newPlacing(zones).bind("w1", "w2", "w3", "w5").bind("w4").Run(), all, verdict.Held, 0)
	lines(t, v)
	numbers(t, v, map[string]float64{"bindings": 5, "certainBindings": 3, "openBindings": 1, "brokenBindings": 0})

	v = check(t, newPlacing(zones).bind("w1", "w2", "w3").Run(), all, verdict.Violated, 3300*ms)
	numbers(t, v, map[string]float64{"bindings": 3, "certainBindings": 1, "openBindings": 0, "brokenBindings": 1})
}

func TestPlacementUnknown(t *testing.T) {
	zones := spreadOver(overZones, "")
	broken := func() *placing { return newPlacing(zones).each("w1", "w2") }
	good := func() *placing { return newPlacing(zones).each("w1", "w3") }
	all := invariant.Placement{}
	checkAll(t, []sample{
		{"an old record", newPlacing("").each("w1").Builder, all, verdict.Unknown, 0},
		{"no rule about others", newPlacing(`{"nodeSelector":{"kubernetes.io/hostname":"w1"}}`).each("w1").Builder, all, verdict.Unknown, 0},
		{"nothing was bound", newPlacing(zones).Builder, all, verdict.Unknown, 0},
		{"a rule that is not known", newPlacing(spreadOver(overZones, `,"maxShift":1`)).each("w1").Builder, all, verdict.Unknown, 0},
		{"a rule about other namespaces", newPlacing(affinityOver("podAffinity", overZones+`,"namespaceSelector":{}`)).each("w1").Builder, all,
			verdict.Unknown, 0},
		{"a node that is not known", good().each("w9").Builder, all, verdict.Unknown, 0},
		{"a gap, and nothing broken", good().Gap("nodes", 20*second, 21*second), all, verdict.Unknown, 0},
		{"broken in a gap", broken().Gap("pods", 4*second, 5*second), all, verdict.Unknown, 0},
		{"broken far from a gap", broken().Gap("pods", 20*second, 21*second), all, verdict.Violated, 5300 * ms},
		{"no such Deployment", good().Builder, invariant.Placement{Workload: "cache"}, verdict.Unknown, 0},
		{"pods of another Deployment", good().by(zones, "app.kubernetes.io/name", "other").each("w2", "w1").Builder, all, verdict.Held, 0},
	})
}

// TestPlacementWithoutTheScheduler: a pod that was made with a node is bound as well as any, and the rules are its own.
// One that was there when the watch began was bound nobody knows when.
func TestPlacementWithoutTheScheduler(t *testing.T) {
	made := func(change history.Change) *placing {
		p := newPlacing(spreadOver(overZones, "")).each("w1")
		pod := p.made(9, change)
		pod.Node, pod.Rules = "w2", []byte(p.rules)
		p.Pod(p.at, pod)
		return p
	}
	check(t, made(history.Added).Run(), invariant.Placement{}, verdict.Violated, 5200*ms)
	check(t, made(history.Listed).Run(), invariant.Placement{}, verdict.Held, 0)
}

// TestPlacementSkewIsExact: a pod that came or went a skew before was seen. One that is not judged, and came or went just
// within it, may not have been.
func TestPlacementSkewIsExact(t *testing.T) {
	named := spreadOver(`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchExpressions":`+
		`[{"key":"app.kubernetes.io/name","operator":"Exists"}]}`, "")
	for apart, want := range map[time.Duration]verdict.Outcome{second: verdict.Violated, second - 1: verdict.Held} {
		came := newPlacing(named).by(named, "app.kubernetes.io/name", "other")
		came.bind("w1")
		came.at = 3100*ms + apart - 100*ms
		came.by(named).bind("w2")
		went := newPlacing(named).each("w1", "w3", "w5")
		gone := went.at
		went.terminate(3, "w5").at = gone + apart - 100*ms
		went.bind("w2")
		for what, p := range map[string]*placing{"came": came, "went": went} {
			if v := judge.Check(p.Run(), (invariant.Placement{})); v.Outcome != want {
				t.Errorf("%s %s before: %s: %s", what, apart, v.Outcome, v.Seen)
			}
		}
	}
}
