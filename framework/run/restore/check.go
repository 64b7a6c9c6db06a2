package restore

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// checkLimit bounds Check. A starved machine answers slowly.
const checkLimit = 20 * time.Second

// Check returns an error if a killed run has left a fault in a cluster: a node that does not run, or an undo script that has not
// run. It asks each node once, without the API server, and takes about a second.
func Check(ctx context.Context, cluster clusters.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, checkLimit)
	defer cancel()
	machines := cluster.Nodes()
	found := make([]string, len(machines))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.NumCPU())
	for i, n := range machines {
		group.Go(func() (err error) {
			found[i], err = disturbed(ctx, n)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("look whether cluster %s is as it was: %w", cluster.Name(), err)
	}
	found = slices.DeleteFunc(found, func(what string) bool { return what == "" })
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("cluster %s was left in the middle of a fault, which was not undone (%s): run 'holdfast heal %s' first",
		cluster.Name(), strings.Join(found, ", "), cluster.Name())
}

// disturbed is what a fault has left on a node; empty: nothing.
func disturbed(ctx context.Context, n clusters.Node) (string, error) {
	if n.Role() == clusters.Simulated { // it keeps nothing
		return halted(ctx, n)
	}
	undos, err := node.LeftUndos(ctx, n)
	if err != nil {
		if what, unknown := halted(ctx, n); what != "" || unknown != nil {
			return what, unknown
		}
		return "", err
	}
	if len(undos) == 0 { // the node answered, and so it runs
		return "", nil
	}
	return fmt.Sprintf("%s has the undo of %s", n.Name(), strings.Join(undos, ", ")), nil
}

// halted is the state of a node that does not run; empty: it runs.
func halted(ctx context.Context, n clusters.Node) (string, error) {
	state, err := n.State(ctx)
	if err != nil || state == clusters.Running {
		return "", err
	}
	return fmt.Sprintf("machine %s is %s", n.Name(), state), nil
}
