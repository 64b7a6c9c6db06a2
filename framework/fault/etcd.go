package fault

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// etcdMember is what a member of etcd says of itself.
//
// Source: https://etcd.io/docs/latest/metrics/ (server)
type etcdMember struct {
	leads     bool // etcd_server_is_leader
	hasLeader bool // etcd_server_has_leader
	changes   int  // etcd_server_leader_changes_seen_total: it rises with every new term that has a leader
}

// askEtcd asks the member on a control plane, by the address at which kubeadm has it tell of itself without a certificate.
func askEtcd(ctx context.Context, node clusters.Node) (etcdMember, error) {
	out, err := node.Exec(ctx, "curl", "--silent", "--show-error", "--noproxy", "*", "--max-time", "3", "http://127.0.0.1:2381/metrics")
	if err != nil {
		return etcdMember{}, fmt.Errorf("ask etcd on %s: %w", node.Name(), err)
	}
	m, err := parseEtcd(string(out))
	if err != nil {
		return m, fmt.Errorf("ask etcd on %s: %w", node.Name(), err)
	}
	return m, nil
}

// parseEtcd reads the three numbers, all of which must be there.
func parseEtcd(metrics string) (m etcdMember, err error) {
	found := map[string]float64{"etcd_server_is_leader": -1, "etcd_server_has_leader": -1, "etcd_server_leader_changes_seen_total": -1}
	for line := range strings.Lines(metrics) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if _, wanted := found[name]; !wanted {
			continue
		}
		if found[name], err = strconv.ParseFloat(value, 64); err != nil {
			return m, fmt.Errorf("read its metrics: %w", err)
		}
	}
	for name, value := range found {
		if value < 0 {
			return m, fmt.Errorf("its metrics have no %s", name)
		}
	}
	return etcdMember{
		leads: found["etcd_server_is_leader"] == 1, hasLeader: found["etcd_server_has_leader"] == 1,
		changes: int(found["etcd_server_leader_changes_seen_total"]),
	}, nil
}

// controlPlanes are the nodes of the control plane.
func (t Target) controlPlanes() (nodes []clusters.Node) {
	for _, n := range t.Cluster.Nodes() {
		if n.Role() == clusters.ControlPlane {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// leastPlanes is how many control planes there must be for one of them to be taken away with something left to look at.
const leastPlanes = 2

// etcdLeader finds the control plane whose member of etcd leads, and the others with what their members say.
func (t Target) etcdLeader(ctx context.Context) (leader clusters.Node, others []clusters.Node, said map[string]etcdMember, err error) {
	planes := t.controlPlanes()
	if len(planes) < leastPlanes {
		return nil, nil, nil, fmt.Errorf("find etcd's leader: %s has %s, and several are needed", t.Cluster.Name(), plural(len(planes), "control plane"))
	}
	said = map[string]etcdMember{}
	for _, n := range planes {
		m, err := askEtcd(ctx, n)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("find etcd's leader: %w", err)
		}
		said[n.Name()] = m
		if m.leads && leader == nil {
			leader = n
		} else {
			others = append(others, n)
		}
	}
	if leader == nil {
		return nil, nil, nil, fmt.Errorf("find etcd's leader: none of %s leads", strings.Join(node.Names(planes), ", "))
	}
	return leader, others, said, nil
}
