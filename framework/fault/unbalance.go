package fault

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters"
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

// Inject implements Fault. It returns when the zone takes pods again and has none of the workload's.
func (Unbalance) Inject(ctx context.Context, t Target) (Heal, error) {
	nodes, pods, err := t.zone(ctx)
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		if err := t.open(ctx, nodes); err != nil {
			return err
		}
		witness, err := t.Settle(ctx)
		if err == nil {
			t.Record.Healed("no node is cordoned; " + witness)
		}
		return err
	})
	for _, n := range nodes { // all first, or the pods of one would move to the next
		if err := t.cordon(ctx, n.Name(), true); err != nil {
			return heal, err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, n := range nodes {
		group.Go(func() error { return t.drain(groupCtx, n.Name()) })
	}
	if err := group.Wait(); err != nil {
		return heal, err
	}
	witness, err := t.emptied(ctx, nodes)
	if err != nil {
		return heal, err
	}
	if err := t.open(ctx, nodes); err != nil {
		return heal, err
	}
	// No nodes are named: they were taken away only for a while, and are back before the undo.
	t.Record.Seen(nil, pods, witness+"; open again: "+strings.Join(names(nodes), ", "))
	return heal, nil
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
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if all[name].Spec.NodeName == n.Name() {
				carries[n.Zone()] = append(carries[n.Zone()], name)
			}
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

// open uncordons all nodes that it can.
func (t Target) open(ctx context.Context, nodes []clusters.Node) error {
	var errs []error
	for _, n := range nodes { // one that cannot be opened must not keep the others closed
		errs = append(errs, t.cordon(ctx, n.Name(), false))
	}
	return errors.Join(errs...)
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
	closed := names(nodes)
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
