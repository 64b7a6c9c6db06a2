package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// Unbalance empties a zone of the workload's pods and opens it again: it drains all its workers, as their maintenance
// does, waits until the workload has settled on the others, and uncordons them. Nothing brings the pods back by itself,
// for spread is a rule of scheduling. So there is little to undo: nothing is left cordoned, and where the pods are from
// then on is for the scenario to judge.
//
// The workload's constraints must let the other zones take all its pods while this one is closed: those of
// nodeTaintsPolicy Honor do.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#known-limitations
type Unbalance struct{}

func (Unbalance) String() string { return "drain a zone and open it again" }

// Plan implements Fault. The zone is unbalanced when it takes pods again and has none of the workload's.
func (Unbalance) Plan(ctx context.Context, t Target) (Disruption, error) {
	nodes, pods, err := t.zone(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.checkSchedulable(ctx, nodes); err != nil {
		return nil, err
	}
	return Settling(&Effect{
		Undo:    func(ctx context.Context) error { return t.uncordonAll(ctx, nodes) },
		Restore: t.settledAfter("no node is cordoned"),
		Over:    "the nodes are schedulable again when it was seen, and where pods return to is what scenarios ask",
	}, func(ctx context.Context) (seen Observation, err error) {
		if err := t.drainAll(ctx, nodes); err != nil {
			return seen, err
		}
		witness, err := t.emptied(ctx, nodes)
		if err != nil {
			return seen, err
		}
		// No nodes are named: they were away only for a while, and are back before the revert.
		return Observation{Pods: pods, Witness: witness + "; open again: " + strings.Join(node.Names(nodes), ", ")}, t.uncordonAll(ctx, nodes)
	}), nil
}

// zone picks a zone whose workers carry pods of the workload, at random but repeatably, and names those pods. There must
// be workers elsewhere.
func (t Target) zone(ctx context.Context) (nodes []clusters.Node, pods []string, err error) {
	all, err := t.pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	workers, carries := map[string][]clusters.Node{}, map[string][]string{}
	for _, n := range t.Cluster.Nodes() {
		if n.Role() != clusters.Worker {
			continue
		}
		workers[n.Zone()] = append(workers[n.Zone()], n)
		if carried := slices.Collect(maps.Keys(on(all, n.Name()))); len(carried) > 0 {
			carries[n.Zone()] = append(carries[n.Zone()], carried...)
		}
	}
	if len(carries) == 0 || len(workers) < 2 {
		return nil, nil, fmt.Errorf("pick a zone with pods of %s: of %s, %d carry any", t.Workload, plural(len(workers), "zone"), len(carries))
	}
	zones := slices.Sorted(maps.Keys(carries))
	zone := zones[t.Rand.IntN(len(zones))]
	slices.Sort(carries[zone])
	return workers[zone], carries[zone], nil
}

// emptied is the witness of an emptied zone: the workload has settled, and where all its pods are.
func (t Target) emptied(ctx context.Context, nodes []clusters.Node) (witness string, err error) {
	settled, err := t.Settle(ctx)
	if err != nil {
		return "", err
	}
	now, err := t.pods(ctx)
	if err != nil {
		return "", err
	}
	closed := node.Names(nodes)
	on := map[string]int{}
	for name, pod := range now {
		if slices.Contains(closed, pod.Spec.NodeName) {
			return "", fmt.Errorf("empty %s: pod %s is still on %s", strings.Join(closed, ", "), name, pod.Spec.NodeName)
		}
		on[pod.Spec.NodeName]++
	}
	var words []string
	for _, node := range slices.Sorted(maps.Keys(on)) {
		words = append(words, fmt.Sprintf("%s=%d", node, on[node]))
	}
	return fmt.Sprintf("no pod left on %s, and on the others %s; %s", strings.Join(closed, ", "), strings.Join(words, " "), settled), nil
}
