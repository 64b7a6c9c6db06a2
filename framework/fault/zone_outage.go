package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters"
)

// ZoneOutage ends every worker, or every simulated node, of one zone at the same time, in the way of NodeKill. The zone is one of those that carry
// pods of the workload, picked at random. The undo starts the workers again, at the same time too.
//
// Kubernetes notices each node's loss as that of any other, but marks the nodes of a zone for eviction one by one, one
// every ten seconds by default: the pods of the second are replaced that much later.
// Source: https://kubernetes.io/docs/concepts/architecture/nodes/#rate-limits-on-eviction
type ZoneOutage struct{}

func (ZoneOutage) String() string { return "outage of one zone" }

// Plan implements Fault.
func (z ZoneOutage) Plan(ctx context.Context, t Target) (Disruption, error) {
	nodes, pods, err := z.victims(ctx, t)
	if err != nil {
		return nil, err
	}
	return t.failNodes(ctx, killing, nodes, pods)
}

// victims are the workers of the zone of one that carries pods, and all pods of the workload on them.
func (ZoneOutage) victims(ctx context.Context, t Target) (nodes []clusters.Node, pods []string, err error) {
	picked, _, err := t.victims(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	zone := picked[0].Zone()
	if zone == "" {
		return nil, nil, fmt.Errorf("pick a zone of %s: worker %s is in none", t.Cluster.Name(), picked[0].Name())
	}
	all, err := t.pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range t.Cluster.Nodes() {
		if underTest(n) && n.Zone() == zone {
			nodes = append(nodes, n)
			pods = append(pods, slices.Collect(maps.Keys(on(all, n.Name())))...)
		}
	}
	slices.Sort(pods)
	return nodes, pods, nil
}
