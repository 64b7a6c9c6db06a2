package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/poll"
)

// ComponentKill ends every process of a component with SIGKILL, once: of a static pod's on all control planes, of kube-proxy and
// CoreDNS on all nodes, of kubelet and containerd on one worker that carries pods. Nothing is kept from starting it again, and
// its kubelet, or systemd, does.
//
// When it was seen, the workload is asked for one replica more: a change that meets the component as it comes back. The undo
// waits until all are back and the workload has settled, and takes the replica away again.
type ComponentKill struct {
	Component Component
}

func (k ComponentKill) String() string { return "kill " + string(k.Component) }

// Inject implements Fault. It returns when the nodes' own /proc shows none of the processes that there were.
func (k ComponentKill) Inject(ctx context.Context, t Target) (Heal, error) {
	h, err := k.Component.habitat()
	if err != nil {
		return nothing, err
	}
	nodes, err := h.of(ctx, t)
	if err != nil {
		return nothing, err
	}
	before, err := k.Component.before(ctx, nodes)
	if err != nil {
		return nothing, fmt.Errorf("%s: %w", k, err)
	}
	one, err := t.oneMore(ctx)
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		witness, err := k.Component.awaitBack(ctx, t, nodes, before)
		if err != nil {
			return err
		}
		return one.takeBack(ctx, witness)
	})
	if err := k.Component.end(ctx, nodes); err != nil {
		return heal, err
	}
	err = poll.Until(ctx, string(k.Component)+" to be dead", killLimit, func(ctx context.Context) (bool, string, error) {
		now, err := k.Component.running(ctx, nodes)
		left := slices.DeleteFunc(now, func(p string) bool { return !slices.Contains(before, p) })
		return err == nil && len(left) == 0, plural(len(left), "old process") + " left: " + strings.Join(left, ", "), err
	})
	if err != nil {
		return heal, err
	}
	t.Record.Gone(len(before))
	t.Record.Seen(h.bitten(nodes), nil, fmt.Sprintf("/proc no longer has what ran of %s on %s", k.Component, nodesOf(before)))
	one.ask(ctx)
	return heal, nil
}
