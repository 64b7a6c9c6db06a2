package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// killLimit bounds how long a killed machine may take to be seen dead: it is at once, on a machine that is not starved.
const killLimit = 30 * time.Second

// kill ends machines at the same time, and returns when the engine says of each that it is gone and its kubelet has
// fallen silent. The undo starts all of them, and returns when they are Ready and the workload has settled. If it was not
// settled before, another fault keeps it from that, and is undone later.
func (t Target) kill(ctx context.Context, nodes []clusters.Node, pods []string) (Heal, error) {
	whole, _, err := t.look(ctx)
	if err != nil {
		return nothing, err
	}
	err = onEach(nodes, func(n clusters.Node) error { // one that is dead already would be seen dead whatever we do
		is, saw, err := dead(ctx, n)
		if err == nil && is {
			err = errors.New("it is dead already: " + saw)
		}
		if err != nil {
			return fmt.Errorf("kill %s: %w", n.Name(), err)
		}
		return nil
	})
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		err := onEach(nodes, func(n clusters.Node) error { // one that cannot be started must not keep the others down
			if err := n.Start(ctx); err != nil {
				return fmt.Errorf("start %s: %w", n.Name(), err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		witness := ofEach(nodes, "%s is Ready and reaches a Service")
		if whole {
			saw, err := t.Settle(ctx)
			if err != nil {
				return err
			}
			witness += "; " + saw
		}
		t.Record.Healed(witness)
		return nil
	})
	err = onEach(nodes, func(n clusters.Node) error {
		if err := n.Kill(ctx); err != nil {
			return fmt.Errorf("kill %s: %w", n.Name(), err)
		}
		return poll.Until(ctx, "node "+n.Name()+" to be dead", killLimit, func(ctx context.Context) (bool, string, error) {
			return dead(ctx, n)
		})
	})
	if err != nil {
		return heal, err
	}
	t.Record.Seen(names(nodes), pods, ofEach(nodes, "the engine says %s has exited, and its kubelet port is silent"))
	t.Record.Lasts(allDead(nodes))
	return heal, nil
}

// allDead asks both witnesses of every machine.
func allDead(nodes []clusters.Node) Lasting {
	return func(ctx context.Context) (bool, string, error) {
		for _, n := range nodes {
			if is, saw, err := dead(ctx, n); err != nil || !is {
				return false, n.Name() + ": " + saw, err
			}
		}
		return true, ofEach(nodes, "%s is dead"), nil
	}
}

// dead asks both witnesses.
func dead(ctx context.Context, node clusters.Node) (bool, string, error) {
	state, err := node.State(ctx)
	if err != nil {
		return false, "", err
	}
	silent, err := node.Silent(ctx)
	if err != nil {
		return false, "", err
	}
	return state == clusters.Exited && silent, fmt.Sprintf("state %s, kubelet port silent: %t", state, silent), nil
}

// onEach does something to all nodes at once, and says where it went wrong.
func onEach(nodes []clusters.Node, do func(clusters.Node) error) error {
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() { errs[i] = do(n) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ofEach says the same of every node.
func ofEach(nodes []clusters.Node, words string) string {
	said := make([]string, len(nodes))
	for i, name := range names(nodes) {
		said[i] = fmt.Sprintf(words, name)
	}
	return strings.Join(said, "; ")
}
