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

// killLimit bounds how long a machine may take to be seen dead or frozen: it is at once, on one that is not starved.
const killLimit = 30 * time.Second

// A taking is a way to take machines away, and to give them back.
type taking struct {
	verb, is, are string // "kill", "dead", and in a witness's words: "has exited"
	take, back    func(clusters.Node, context.Context) error
	gives         string // what the undo does
	state         clusters.NodeState
}

var (
	killing = taking{"kill", "dead", "has exited", clusters.Node.Kill, clusters.Node.Start, "start", clusters.Exited}
	// stopping takes its witnesses' time: Node.Stop returns when the machine has shut down.
	stopping = taking{"stop", "off", "has exited", clusters.Node.Stop, clusters.Node.Start, "start", clusters.Exited}
	freezing = taking{"freeze", "frozen", "is paused", clusters.Node.Pause, clusters.Node.Resume, "thaw", clusters.Paused}
)

// takeAway takes machines away at the same time, and returns when the engine says of each that it is gone and its kubelet has
// fallen silent. The undo gives all of them back, and returns when they are Ready and the workload has settled. If it was not
// settled before, another fault keeps it from that, and is undone later.
func (t Target) takeAway(ctx context.Context, by taking, nodes []clusters.Node, pods []string) (Heal, error) {
	whole, _, err := t.look(ctx)
	if err != nil {
		return nothing, err
	}
	err = onEach(nodes, func(n clusters.Node) error { // one that is so already would be seen so whatever we do
		is, saw, err := by.done(ctx, n)
		if err == nil && is {
			err = fmt.Errorf("it is %s already: %s", by.is, saw)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", by.verb, n.Name(), err)
		}
		return nil
	})
	if err != nil {
		return nothing, err
	}
	heal := once(func(ctx context.Context) error {
		err := onEach(nodes, func(n clusters.Node) error { return by.undo(ctx, n) }) // one that stays away must not keep the others
		if err != nil {
			return err
		}
		return t.returned(ctx, nodes, whole)
	})
	err = onEach(nodes, func(n clusters.Node) error {
		if err := by.take(n, ctx); err != nil {
			return fmt.Errorf("%s %s: %w", by.verb, n.Name(), err)
		}
		return poll.Until(ctx, "node "+n.Name()+" to be "+by.is, killLimit, func(ctx context.Context) (bool, string, error) {
			return by.done(ctx, n)
		})
	})
	if err != nil {
		return heal, err
	}
	t.Record.Seen(names(nodes), pods, ofEach(nodes, "the engine says %s "+by.are+", and its kubelet port is silent"))
	t.Record.Lasts(by.lasting(nodes))
	return heal, nil
}

// returned is the end of the undo of a fault that took nodes away, all of which are Ready again.
func (t Target) returned(ctx context.Context, nodes []clusters.Node, whole bool) error {
	return t.healed(ctx, ofEach(nodes, "%s is Ready and reaches a Service"), whole)
}

// healed is the end of an undo of which there is a witness: the workload has settled as well, if it was whole before. If it was
// not, something else keeps it from that.
func (t Target) healed(ctx context.Context, witness string, whole bool) error {
	if whole {
		saw, err := t.Settle(ctx)
		if err != nil {
			return err
		}
		witness += "; " + saw
	}
	t.Record.Healed(witness)
	return nil
}

// undo gives a machine back. Who thawed it is not yet told that it is Ready: Start on a machine that runs waits for that.
func (by taking) undo(ctx context.Context, n clusters.Node) error {
	if err := by.back(n, ctx); err != nil {
		return fmt.Errorf("%s %s: %w", by.gives, n.Name(), err)
	}
	if by.state != clusters.Paused {
		return nil
	}
	if err := n.Start(ctx); err != nil {
		return fmt.Errorf("see %s back: %w", n.Name(), err)
	}
	return nil
}

// lasting asks both witnesses of every machine.
func (by taking) lasting(nodes []clusters.Node) Lasting {
	return func(ctx context.Context) (bool, string, error) {
		for _, n := range nodes {
			if is, saw, err := by.done(ctx, n); err != nil || !is {
				return false, n.Name() + ": " + saw, err
			}
		}
		return true, ofEach(nodes, "%s is "+by.is), nil
	}
}

// done asks both witnesses.
func (by taking) done(ctx context.Context, node clusters.Node) (bool, string, error) {
	state, err := node.State(ctx)
	if err != nil {
		return false, "", err
	}
	silent, err := node.Silent(ctx)
	if err != nil {
		return false, "", err
	}
	return state == by.state && silent, fmt.Sprintf("state %s, kubelet port silent: %t", state, silent), nil
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
