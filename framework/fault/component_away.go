package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// ComponentAway takes a component away and keeps it away for a time: a static pod's manifest is moved out of its kubelet's sight
// on every control plane, kubelet and containerd are stopped on one worker that carries pods, kube-proxy is sent to nodes that do
// not exist, CoreDNS is scaled to none. What is left on the nodes undoes it, should the harness not live to do so.
//
// When it was seen, the workload is asked for one replica more, so that there is something to stall; where nothing can be
// asked, because the API server or its store is away, the revert asks as soon as the API server answers. The revert brings the
// component back, waits until it is and the workload has settled, and takes the replica away again.
type ComponentAway struct {
	Component Component
	// For is how long. It counts from when it was seen.
	For time.Duration
}

func (a ComponentAway) String() string { return fmt.Sprintf("%s away for %s", a.Component, a.For) }

// overdue is how much longer than planned a component may be away before the node brings it back by itself.
const overdue = 2 * time.Minute

// Plan implements Fault. The component is away when the nodes' own /proc has had no process of it for a while. What follows takes For.
func (a ComponentAway) Plan(ctx context.Context, t Target) (Disruption, error) {
	c, err := t.componentOn(ctx, a.Component)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a, err)
	}
	at := c.nodes
	if c.anywhere {
		if at, err = controlPlanes(ctx, t); err != nil {
			return nil, err
		}
		at = at[:1]
	}
	one, err := t.oneMore(ctx)
	if err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error {
			if err := node.OnEach(at, func(n clusters.Node) error { return a.remove(ctx, c.componentSpec, n) }); err != nil {
				return err
			}
			return a.awaitAway(ctx, c)
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			now, err := a.Component.running(ctx, c.nodes)
			saw := "processes: " + strings.Join(now, ", ")
			if len(now) == 0 {
				saw = fmt.Sprintf("/proc has no process of %s, which ran on %s", a.Component, nodesOf(c.before))
			}
			return len(now) == 0, c.observation(saw), err
		},
		Ask: func(ctx context.Context) (bool, string, error) {
			now, err := a.Component.running(ctx, c.nodes)
			return err == nil && len(now) == 0, fmt.Sprintf("processes of %s: %q", a.Component, now), err
		},
		Then: func(ctx context.Context) error {
			one.ask(ctx)
			return poll.Pass(ctx, a.For)
		},
		Undo: func(ctx context.Context) error {
			if err := node.OnEach(at, func(n clusters.Node) error { return node.RunUndo(ctx, n, a.undo()) }); err != nil {
				return err
			}
			return c.awaitBack(ctx, t)
		},
		Restore: func(ctx context.Context) (string, error) { return one.takeBack(ctx, c.back) },
		Until:   string(a.Component) + " to be away", Limit: componentGone,
	}, nil
}

// undo is the name of the undo script on the nodes.
func (a ComponentAway) undo() string { return "away-" + string(a.Component) }

func (a ComponentAway) remove(ctx context.Context, h componentSpec, n clusters.Node) error {
	script := "set -- " + string(a.Component) + "\n" + h.restore
	if err := node.LeaveUndo(ctx, n, a.undo(), script, componentGone+a.For+overdue); err != nil {
		return err
	}
	if _, err := n.Exec(ctx, "sh", "-c", h.remove, "away", string(a.Component)); err != nil {
		return fmt.Errorf("stop %s on %s: %w", a.Component, n.Name(), err)
	}
	return nil
}

// awayLooks is how often in a row a component must not be seen: a kubelet that has not yet noticed starts it once more.
const awayLooks = 6

// awaitAway waits until the component does not run and is not started again, and kills what does not end soon.
func (a ComponentAway) awaitAway(ctx context.Context, c *componentTarget) error {
	looks := 0
	return poll.Until(ctx, string(a.Component)+" to be away", componentGone, func(ctx context.Context) (bool, string, error) {
		now, err := a.Component.running(ctx, c.nodes)
		if err == nil && len(now) > 0 && c.kill {
			err = a.Component.end(ctx, c.nodes)
		}
		if looks++; err != nil || len(now) > 0 {
			looks = 0
		}
		return looks == awayLooks, "processes: " + strings.Join(now, ", "), err
	})
}

// oneMore is a change that is asked of the workload while a component is away.
type oneMore struct {
	target   Target
	replicas int
	asked    bool
}

func (t Target) oneMore(ctx context.Context) (*oneMore, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	return &oneMore{target: t, replicas: int(*d.Spec.Replicas)}, nil
}

// askWithin bounds how long it is tried to ask: an API server that is away refuses at once, one without its store says nothing.
const askWithin = 5 * time.Second

// ask asks once. It may get no answer because of the fault.
func (o *oneMore) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	o.asked = o.target.setScale(ctx, o.replicas+1) == nil
}

// takeBack asks for the replica if that was not possible before, and takes it back when the workload has settled with it.
func (o *oneMore) takeBack(ctx context.Context, witness string) (string, error) {
	err := poll.Until(ctx, fmt.Sprintf("a replica more of %s to be asked for", o.target.Workload), componentBack,
		func(ctx context.Context) (bool, string, error) {
			if !o.asked {
				o.ask(ctx)
			}
			return o.asked, "no answer", nil
		})
	if err != nil {
		return "", err
	}
	settled, settleErr := o.target.Settle(ctx)
	var back string
	err = poll.Until(ctx, fmt.Sprintf("%s to have %d replicas again", o.target.Workload, o.replicas), componentBack,
		func(ctx context.Context) (_ bool, saw string, err error) {
			err = o.target.setScale(ctx, o.replicas)
			return err == nil, "", err
		})
	if err == nil {
		back, err = o.target.Settle(ctx)
	}
	return witness + "; " + settled + "; then " + back, errors.Join(settleErr, err)
}
