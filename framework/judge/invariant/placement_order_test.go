package invariant_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// at10ms binds pods to nodes 10 ms apart, so that any of them may have been the first.
func (p *placing) at10ms(nodes ...string) *placing {
	for _, node := range nodes {
		p.bind(node)
		p.at -= 2190 * ms
	}
	return p
}

func times(n int, node string) []string { return slices.Repeat([]string{node}, n) }

// TestPlacementOfManyAtOnce: a dozen pods in one zone, or dozens on one node, are more than are legal in any order, and
// a search that weighs equal pods one by one gives up on them.
func TestPlacementOfManyAtOnce(t *testing.T) {
	zones, hosts := spreadOver(overZones, ""), spreadOver(overHosts, "")
	share := func(a, b, c int) []string { return slices.Concat(times(a, "w1"), times(b, "w3"), times(c, "w5")) }
	twoNodes := slices.Concat(times(5, "w1"), times(5, "w2"), times(2, "w3"), times(2, "w4"), times(1, "w5"), times(2, "w6"))
	for _, s := range []struct {
		name  string
		rules string
		nodes []string
		want  verdict.Outcome
		words string
	}{
		{"6, 2 and 2", zones, share(6, 2, 2), verdict.Violated, "no order makes all 10 bindings from 3.1s to 3.19s legal"},
		{"8, 2 and 2", zones, share(8, 2, 2), verdict.Violated, "no order makes all 12 bindings from 3.1s to 3.21s legal"},
		{"14, 3 and 3", zones, share(14, 3, 3), verdict.Violated, "no order makes all 20 bindings from 3.1s to 3.29s legal"},
		{"20 on one node", zones, times(20, "w1"), verdict.Violated, "no order makes all 20 bindings"},
		{"46 on one node", zones, times(46, "w1"), verdict.Violated, "no order makes all 46 bindings"},
		{"60 on one node", zones, times(60, "w1"), verdict.Violated, "no order makes all 60 bindings"},
		{"60 on one node, by host", hosts, times(60, "w1"), verdict.Violated, "no order makes all 60 bindings"},
		{"120 on one node, over more than the skew", zones, times(120, "w1"), verdict.Violated, "backend-"},
		{"10, 4 and 3 over two nodes of each zone", zones, twoNodes, verdict.Violated, "no order makes all 17 bindings"},
		{"4, 4 and 4", zones, share(4, 4, 4), verdict.Held, "0 in every order of the events within 1s of them, 12 in some order"},
		{"10 in each zone", zones, share(10, 10, 10), verdict.Held, "30 in some order"},
		{"20, 20 and 20", zones, share(20, 20, 20), verdict.Held, " in some order"},
		{"6 and 5 and 5 over all hosts", hosts, slices.Concat(times(3, "w1"), times(3, "w2"), times(3, "w3"), times(3, "w4"), times(2, "w5"), times(2, "w6")),
			verdict.Held, " in some order"},
	} {
		t.Run(s.name, func(t *testing.T) {
			v := judge.Check(newPlacing(s.rules).at10ms(s.nodes...).Run(), invariant.Placement{})
			if v.Outcome != s.want || !strings.Contains(v.Seen, s.words) {
				t.Errorf("%s: %s; want %s: %s", v.Outcome, v.Seen, s.want, s.words)
			}
		})
	}
}

// TestPlacementIsNotConcluded: where the search ends before it has found an order or excluded all, there is no verdict.
// A loose constraint lets nearly everything stand, on nodes that are all different, until a pod that never fits.
func TestPlacementIsNotConcluded(t *testing.T) {
	loose := `{"topologySpreadConstraints":[{"maxSkew":5,"whenUnsatisfiable":"DoNotSchedule","nodeTaintsPolicy":"Honor",` + overHosts + `}]}`
	var nodes []string
	for _, node := range []string{"w1", "w2", "w3", "w4", "w5"} {
		nodes = append(nodes, times(9, node)...)
	}
	v := check(t, newPlacing(loose).at10ms(append(nodes, times(3, "w6")...)...).Run(), invariant.Placement{}, verdict.Unknown, 0)
	if strings.Contains(v.Seen, "in some order,") {
		t.Errorf("it claims an order: %s", v.Seen)
	}
	broken := newPlacing(loose).at10ms(append(nodes, times(3, "w6")...)...).settle().by(affinityOver("podAntiAffinity", overHosts)).each("w1")
	check(t, broken.Run(), invariant.Placement{}, verdict.Violated, broken.at-2100*ms)
}

// TestPlacementOfDifferentPodsAtOnce: each pod of a StatefulSet has labels of its own, and pods of two revisions differ in
// one. Their rules are about each other, so that they are ordered together. What no rule is about orders nothing.
func TestPlacementOfDifferentPodsAtOnce(t *testing.T) {
	named := func(rules string, nodes ...string) *placing {
		p := newPlacing(rules)
		for i, node := range nodes {
			p.by(rules, "apps.kubernetes.io/pod-index", fmt.Sprint(i)).at10ms(node)
		}
		return p
	}
	byRev := spreadOver(overZones, `,"matchLabelKeys":["rev"]`)
	revisions := func(rules string) *placing {
		return newPlacing(rules).by(rules, "rev", "1").at10ms("w1").by(rules, "rev", "2").at10ms("w2").by(rules, "rev", "1").at10ms("w3").
			by(rules, "rev", "2").at10ms("w4")
	}
	other := spreadOver(`"topologyKey":"topology.kubernetes.io/zone","labelSelector":{"matchLabels":{"rev":"2"}}`, "")
	for name, s := range map[string]struct {
		p    *placing
		want verdict.Outcome
	}{
		"a StatefulSet on one node":           {named(spreadOver(overZones, ""), times(10, "w1")...), verdict.Violated},
		"a StatefulSet over three zones":      {named(spreadOver(overZones, ""), "w1", "w2", "w3", "w4", "w5", "w6"), verdict.Held},
		"two revisions, which count together": {revisions(spreadOver(overZones, "")), verdict.Violated},
		"two revisions, which count apart":    {revisions(byRev), verdict.Held},
		"a rule about pods of another kind": {newPlacing("").by(other, "rev", "1").at10ms("w1", "w1").by(other, "rev", "2").at10ms("w1", "w2").
			by(other, "rev", "1").at10ms("w2"), verdict.Violated},
	} {
		if v := judge.Check(s.p.Run(), (invariant.Placement{})); v.Outcome != s.want {
			t.Errorf("%s: %s: %s", name, v.Outcome, v.Seen)
		}
	}
}

// TestPlacementFoldsEqualPodsOnly compares the verdict on folded pods with that on pods of which each has a label that no
// rule asks for, so that none is folded: they differ in nothing else.
func TestPlacementFoldsEqualPodsOnly(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 5))
	found := make(map[verdict.Outcome]int)
	for range 300 {
		rules := []string{
			spreadOver(overZones, ""), spreadOver(overHosts, ""), spreadOver(overZones, `,"maxSkew":2`), spreadOver(overZones, `,"minDomains":3`),
			affinityOver("podAntiAffinity", overHosts), affinityOver("podAffinity", overZones), spreadOver(overZones, `,"matchLabelKeys":["rev"]`),
		}
		rule := rules[random.IntN(len(rules))]
		alike, apart := newPlacing(rule), newPlacing(rule)
		change := func(edit func(*placing)) { edit(alike); edit(apart) }
		node := func() string { return fmt.Sprintf("w%d", 1+random.IntN(6)) }
		for i := range 3 + random.IntN(5) {
			rev, on := fmt.Sprint(random.IntN(2)), node()
			alike.by(rule, "rev", rev).at10ms(on)
			apart.by(rule, "rev", rev, "own", fmt.Sprint(i)).at10ms(on)
			at, gone, closed := time10(random), 1+random.IntN(i+1), node()
			switch random.IntN(6) {
			case 0: // a pod of the burst begins to go
				change(func(p *placing) { goes(p, gone, at) })
			case 1: // a node is cordoned
				change(func(p *placing) {
					n := ht.ReadyNode(closed, ht.ZoneOf(closed))
					n.Change, n.Unschedulable = history.Modified, true
					p.Node(p.at+at, n)
				})
			}
			pause := time10(random) * 4
			change(func(p *placing) { p.at += pause })
		}
		a, b := judge.Check(alike.Run(), invariant.Placement{}), judge.Check(apart.Run(), invariant.Placement{})
		if a.Outcome != b.Outcome || a.At != b.At {
			t.Fatalf("folded %s: %s\napart %s: %s", a.Outcome, a.Seen, b.Outcome, b.Seen)
		}
		found[a.Outcome]++
	}
	if found[verdict.Held] < 30 || found[verdict.Violated] < 30 {
		t.Errorf("%v: it proves little", found)
	}
}

func time10(random *rand.Rand) history.Offset { return history.Offset(random.IntN(15)) * 10 * ms }

// goes has a pod that was bound begin to go.
func goes(p *placing, n int, in history.Offset) {
	for _, e := range p.Run().Events {
		if e.Pod != nil && e.Pod.Name == fmt.Sprintf("backend-%d", n) && e.Pod.Node != "" && !e.Pod.Deleting {
			pod := *e.Pod
			pod.Deleting = true
			p.Pod(max(p.at, e.T)+in, pod)
			return
		}
	}
}
