package disturbances

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/parts"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/spread"
)

// underPressure are the evictions by kubelets, by node.
func (x *facts) underPressure() (list []Disturbance) {
	for _, node := range slices.Sorted(maps.Keys(x.nodes)) {
		gone := x.leftFrom(node, 0, x.end, func(d *departure) bool { return d.cause == spread.ByKubelet })
		for _, pods := range runs(gone, together) {
			d := plain(Pressure, history.Key{}, use(pods, nil))
			d.Nodes, d.Name = []string{node}, "the pressure on node "+node
			d.Words = fmt.Sprintf("node %s was short of a resource: its kubelet evicted %s %s", node, prose.Count(len(pods), "pod"), span(d.Pods))
			list = append(list, d)
		}
	}
	return list
}

// remains is what ended pods of which nothing above is the reason.
var remains = []struct {
	kind  Kind
	cause []spread.Cause
	noun  string // "the eviction of pods of shop/cart"
	verb  string // "2 pods of shop/cart were evicted at 12s"
}{
	{Eviction, []spread.Cause{spread.ByEviction}, "the eviction of pods", "evicted through the API"},
	{TaintEviction, []spread.Cause{spread.ByTaintManager}, "the eviction of pods by the taint manager", "evicted by the taint manager"},
	{Preemption, []spread.Cause{spread.ByPreemption}, "the preemption of pods", "preempted for pods of a higher priority"},
	{NodeLost, []spread.Cause{spread.ByLostNode}, "the deletion of pods of a lost node", "deleted because their node was lost"},
	{Deletion, []spread.Cause{spread.ByDeletion, spread.ByUnknown}, "the deletion of pods", "deleted"},
	{Failure, []spread.Cause{spread.ByEnding}, "the failure of pods", "seen to fail"},
}

// ofPods are the remaining ends of pods, by cause and workload, in runs of those that are close together.
func (x *facts) ofPods() (list []Disturbance) {
	for _, r := range remains {
		for _, key := range x.owners() {
			gone := slices.DeleteFunc(slices.Clone(x.departures), func(d *departure) bool {
				return d.used || d.workload != key || !slices.Contains(r.cause, d.cause)
			})
			for _, pods := range runs(gone, together) {
				d := plain(r.kind, key, use(pods, nil))
				d.Name = r.noun + whose(key)
				d.Words = fmt.Sprintf("%s%s %s %s %s", prose.Count(len(pods), "pod"), whose(key), were(len(pods)), r.verb, span(d.Pods))
				list = append(list, d)
			}
		}
	}
	return list
}

// owners are the workloads of the pods that left for a reason that is not known yet, and no workload.
func (x *facts) owners() []history.Key {
	keys := make(map[history.Key]bool)
	for _, d := range x.departures {
		if !d.used {
			keys[d.workload] = true
		}
	}
	for _, r := range x.restarts {
		if !r.used {
			keys[r.workload] = true
		}
	}
	return slices.SortedFunc(maps.Keys(keys), func(a, b history.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

func whose(key history.Key) string {
	if key == (history.Key{}) {
		return " of no Deployment or StatefulSet"
	}
	return " of " + parts.Name(key)
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// ofContainers are the remaining restarts, by workload.
func (x *facts) ofContainers() (list []Disturbance) {
	for _, key := range x.owners() {
		again := slices.DeleteFunc(slices.Clone(x.restarts), func(r *restart) bool { return r.used || r.workload != key })
		for _, now := range runs(again, together) {
			d := plain(Restart, key, use(nil, now))
			d.From = max(0, slices.MinFunc(now, func(a, b *restart) int { return cmp.Compare(a.ended, b.ended) }).ended)
			d.Name = "the restart of containers" + whose(key)
			d.Words = fmt.Sprintf("%s%s %s restarted %s", prose.Count(len(now), "container"), whose(key), were(len(now)), span(d.Pods))
			list = append(list, d)
		}
	}
	return list
}

// ofServers are the changes of the API server's version.
func (x *facts) ofServers() (list []Disturbance) {
	for i := 1; i < len(x.servers); i++ {
		at := x.servers[i].At
		list = append(list, Disturbance{
			Kind: ServerUpgrade, Name: "the upgrade of the API server", From: at, Seen: at, Over: at, Told: at,
			Words: fmt.Sprintf("the API server's version changed from %s to %s at %s", x.servers[i-1].Value, x.servers[i].Value, prose.Moment(at)),
		})
	}
	return list
}
