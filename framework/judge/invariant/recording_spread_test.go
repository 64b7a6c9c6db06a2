package invariant_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// spreadPod is a ready pod of a workload whose rules are given.
func spreadPod(app, track, name, node string, change history.Change, rules string) history.Pod {
	return history.Pod{
		Change: change, Namespace: ht.Namespace, Name: name, UID: "uid-" + name, Node: node, Phase: "Running", Ready: true,
		Labels: map[string]string{"app": app, "track": track}, Rules: []byte(rules),
	}
}

// spreadRecording is a recording of Deployment web of four pods, two in each of the zones a and b, of which one is deleted and comes back. Zone c has nodes,
// too, and the nodes of the others are in a pool. It ends at a moment. Canaries are pods of another Deployment, in zone c.
func spreadRecording(constraint, rules string, canaries int, to history.Offset) *ht.Builder {
	text := fmt.Sprintf(`{"topologySpreadConstraints":%s%s}`, constraint, rules)
	workload := func(name, track string, replicas, ready int) history.Workload {
		return history.Workload{
			Change: history.Modified, Namespace: ht.Namespace, Name: name, Selector: map[string]string{"app": "web", "track": track}, Spread: []byte(constraint),
			Replicas: replicas, Updated: replicas, Ready: ready, Available: ready, Total: ready, Observed: true,
		}
	}
	b := ht.New().Phase(history.Steady, ht.SteadyAt).Phase(history.Drained, to)
	for i := 1; i <= 6; i++ {
		node := ht.ReadyNode(fmt.Sprintf("w%d", i), ht.ZoneOf(fmt.Sprintf("w%d", i)))
		if i <= 4 {
			node.Labels["pool"] = "web"
		}
		b.Node(2*second, node)
	}
	b.Workload(3*second, workload("web", "stable", 4, 4))
	for i := 1; i <= 4; i++ {
		b.Pod(3*second, spreadPod("web", "stable", fmt.Sprintf("web-%d", i), fmt.Sprintf("w%d", i), history.Listed, text))
	}
	if canaries > 0 {
		b.Workload(3*second, workload("canary", "canary", canaries, canaries))
	}
	for i := range canaries {
		b.Pod(3*second, spreadPod("web", "canary", fmt.Sprintf("canary-%d", i), fmt.Sprintf("w%d", 5+i%2), history.Listed, text))
	}
	old := spreadPod("web", "stable", "web-1", "w1", history.Modified, "")
	old.Deleting = true
	b.Pod(20*second, old).Workload(20*second, workload("web", "stable", 4, 3))
	young := spreadPod("web", "stable", "web-5", "", history.Added, text)
	young.Ready, young.Phase, young.Labels[ht.RevisionLabel] = false, "Pending", "rev2"
	b.Pod(20*second+ms, young)
	young.Change, young.Node = history.Modified, "w1"
	b.Pod(20*second+2*ms, young)
	old.Change = history.Deleted
	b.Pod(21*second, old)
	young.Ready, young.Phase = true, "Running"
	b.Pod(22*second, young).Workload(22*second, workload("web", "stable", 4, 4))
	b.Header(func(h *history.Header) { h.Recorded = &history.Recorded{For: to} })
	return b
}

// TestSpreadWithinCountsAsTheSchedulerDoes: a workload whose constraint is kept is not called uneven because of domains where it may not be, or of pods that
// are others'. One that breaks its constraint does so after one disturbance.
func TestSpreadWithinCountsAsTheSchedulerDoes(t *testing.T) {
	const (
		zones    = `[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"app":"web"}}%s}]`
		pool     = `,"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["web"]}]}]}}}`
		selector = `,"nodeSelector":{"pool":"web"}`
		ignored  = `,"nodeAffinityPolicy":"Ignore"`
		long     = 100 * second
	)
	for name, test := range map[string]struct {
		b        *ht.Builder
		want     verdict.Outcome
		untested bool
	}{
		"an affinity to a pool":                               {spreadRecording(fmt.Sprintf(zones, ""), pool, 0, 35*second), verdict.Unknown, true},
		"an affinity to a pool, for long":                     {spreadRecording(fmt.Sprintf(zones, ""), pool, 0, long), verdict.Unknown, true},
		"a node selector":                                     {spreadRecording(fmt.Sprintf(zones, ""), selector, 0, long), verdict.Unknown, true},
		"a canary in the third zone":                          {spreadRecording(fmt.Sprintf(zones, ""), "", 2, long), verdict.Unknown, true},
		"a third zone":                                        {spreadRecording(fmt.Sprintf(zones, ""), "", 0, long), verdict.Violated, false},
		"a third zone, not for long":                          {spreadRecording(fmt.Sprintf(zones, ""), "", 0, 35*second), verdict.Unknown, false},
		"an affinity to a pool, which the constraint ignores": {spreadRecording(fmt.Sprintf(zones, ignored), pool, 0, long), verdict.Violated, false},
		"a pool, and three zones are asked for":               {spreadRecording(fmt.Sprintf(zones, `,"minDomains":3`), pool, 0, long), verdict.Violated, false},
		"a canary in one of two pools alone":                  {spreadRecording(fmt.Sprintf(zones, ""), "", 1, long), verdict.Unknown, true},
	} {
		v := judge.Check(test.b.Run(), invariant.SpreadWithin{Limit: 20 * second})
		outcome(t, v, test.want, name)
		if v.Untested != test.untested {
			t.Errorf("%s: untested %t: %s", name, v.Untested, v.Seen)
		}
	}
}

// TestARestoredSpreadIsCountedLikeAnUnbalancedOne: the pods of others that a constraint selects count before and after a pod has moved to zone c.
func TestARestoredSpreadIsCountedLikeAnUnbalancedOne(t *testing.T) {
	const zones = `[{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{%s}}}]`
	all, own := fmt.Sprintf(zones, `"app":"web"`), fmt.Sprintf(zones, `"app":"web","track":"stable"`)
	moved := func(constraint string, canaries int) *ht.Builder {
		b := spreadRecording(constraint, "", canaries, 100*second)
		w := history.Workload{
			Change: history.Modified, Namespace: ht.Namespace, Name: "web", Selector: map[string]string{"app": "web", "track": "stable"}, Spread: []byte(constraint),
			Replicas: 4, Updated: 4, Ready: 3, Available: 3, Total: 3, Observed: true,
		}
		old := spreadPod("web", "stable", "web-3", "w3", history.Modified, "")
		old.Deleting = true
		b.Pod(30*second, old).Workload(30*second, w)
		old.Change = history.Deleted
		b.Pod(31*second, old)
		b.Pod(32*second, spreadPod("web", "stable", "web-6", "w5", history.Added, fmt.Sprintf(`{"topologySpreadConstraints":%s}`, constraint)))
		w.Ready, w.Available, w.Total = 4, 4, 4
		return b.Workload(32*second, w)
	}
	for name, test := range map[string]struct {
		b    *ht.Builder
		want verdict.Outcome
	}{
		"no other pods":                      {moved(all, 0), verdict.Held},
		"five others, which are too many":    {moved(all, 5), verdict.Violated},
		"two others, which were not before":  {moved(all, 2), verdict.Violated},
		"one other, which is not too many":   {moved(all, 1), verdict.Unknown},
		"five others, which do not count":    {moved(own, 5), verdict.Held},
		"four others, which fill all skew 2": {moved(all, 4), verdict.Violated},
	} {
		v := judge.Check(test.b.Run(), invariant.SpreadWithin{Limit: 20 * second})
		outcome(t, v, test.want, name)
	}
}
