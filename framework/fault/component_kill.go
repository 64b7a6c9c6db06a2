package fault

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// Plan implements Fault. The component is dead when the nodes' own /proc shows none of the processes that there were.
func (k ComponentKill) Plan(ctx context.Context, t Target) (Disruption, error) {
	c, err := t.componentOn(ctx, k.Component)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k, err)
	}
	one, err := t.oneMore(ctx)
	if err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error { return k.Component.end(ctx, c.nodes) },
		See: func(ctx context.Context) (bool, Observation, error) {
			now, err := k.Component.running(ctx, c.nodes)
			left := slices.DeleteFunc(now, func(p string) bool { return !slices.Contains(c.before, p) })
			saw := plural(len(left), "old process") + " left: " + strings.Join(left, ", ")
			if len(left) == 0 {
				saw = fmt.Sprintf("/proc no longer has what ran of %s on %s", k.Component, nodesOf(c.before))
			}
			return len(left) == 0, c.observation(saw), err
		},
		Then:    func(ctx context.Context) error { one.ask(ctx); return nil },
		Undo:    func(ctx context.Context) error { return c.awaitBack(ctx, t) },
		Restore: func(ctx context.Context) (string, error) { return one.takeBack(ctx, c.back) },
		Until:   string(k.Component) + " to be dead", Limit: killLimit,
		Over: "its kubelet or systemd starts it again at once",
	}, nil
}
