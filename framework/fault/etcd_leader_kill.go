package fault

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// EtcdLeaderKill ends the member of etcd that leads: SIGKILL to its process. The others elect another leader among them, which
// takes them one to two seconds by kubeadm's settings, and until then no API server can read or write. The kubelet starts the
// member again by itself. The API server is asked meanwhile, as ControlPlaneKill does it; that of the same node, which
// knows no other member, is not. The undo waits until the member is back.
//
// Source: https://etcd.io/docs/latest/op-guide/failures/#leader-failure
type EtcdLeaderKill struct{}

const (
	// electedWithin bounds how long the others may take to elect a leader. Seen: 1.5 s on two busy cores.
	electedWithin = 30 * time.Second
	// memberBackWithin bounds how long a member may take to be back; a kubelet that has started it often waits for minutes.
	memberBackWithin = 5 * time.Minute
)

func (EtcdLeaderKill) String() string { return "kill etcd's leader" }

// ControlPlanes is how many a cluster must have at least: without another one no member could lead.
func (EtcdLeaderKill) ControlPlanes() int { return leastPlanes }

// Plan implements Fault. The kill was seen when another member says that it leads, in a term that it had not seen before.
func (k EtcdLeaderKill) Plan(ctx context.Context, t Target) (Disruption, error) {
	leader, others, before, err := t.etcdLeader(ctx)
	if err != nil {
		return nil, err
	}
	return t.probed(&Effect{
		Do: func(ctx context.Context) error {
			// By its whole name, and with SIGKILL: in order it would hand the lead over first.
			if _, err := leader.Exec(ctx, "pkill", "--signal", "KILL", "--exact", "etcd"); err != nil {
				return fmt.Errorf("%s on %s: %w", k, leader.Name(), err)
			}
			return nil
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			done, saw, err := elected(ctx, others, before)
			return done, Observation{Nodes: []string{leader.Name()}, Witness: saw}, err
		},
		Restore: t.etcdWhole,
		Until:   "another member of etcd to lead than that of " + leader.Name(), Limit: electedWithin,
		Over: "the kubelet starts the member again, and another member goes on leading",
	}, others), nil
}

// elected asks whether one of the members leads that did not, in a term that none of them had seen before.
func elected(ctx context.Context, members []clusters.Node, before map[string]etcdMember) (bool, string, error) {
	var said []string
	for _, n := range members {
		m, err := askEtcd(ctx, n)
		if err != nil {
			return false, "", err
		}
		saw := fmt.Sprintf("etcd on %s: leads: %t, leaders seen: %d, before: %d", n.Name(), m.leads, m.changes, before[n.Name()].changes)
		if m.leads && m.changes > before[n.Name()].changes {
			return true, saw, nil
		}
		said = append(said, saw)
	}
	return false, strings.Join(said, "; "), nil
}

// etcdWhole waits until every member of etcd is there and has a leader, and every API server says that it is ready.
func (t Target) etcdWhole(ctx context.Context) (witness string, err error) {
	err = poll.Until(ctx, "every member of etcd to be back", memberBackWithin, func(ctx context.Context) (bool, string, error) {
		leaders := 0
		for _, n := range t.controlPlanes() {
			m, err := askEtcd(ctx, n)
			if err != nil {
				return false, "", err
			}
			if !m.hasLeader {
				return false, "etcd on " + n.Name() + " has no leader", nil
			}
			if m.leads {
				leaders++
			}
			const ready = `curl --silent --insecure --noproxy '*' --max-time 3 https://127.0.0.1:6443/readyz || true`
			out, err := n.Exec(ctx, "sh", "-c", ready, "ready")
			if err != nil {
				return false, "", err
			}
			if said := strings.TrimSpace(string(out)); said != "ok" {
				return false, fmt.Sprintf("the API server of %s is not ready: %.80q", n.Name(), said), nil
			}
		}
		witness = fmt.Sprintf("%s of etcd have a leader, and their API servers are ready", plural(len(t.controlPlanes()), "member"))
		return leaders == 1, witness, nil
	})
	return witness, err
}
