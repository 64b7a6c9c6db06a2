// Package maintenance is about clusters that outlive a run: which run uses one, what killed runs left, and how it is reverted.
package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/holdfast-ha/holdfast/clusters/kind"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
)

// Healer reverts what killed runs left in clusters.
type Healer struct {
	// Open attaches to a cluster.
	Open func(ctx context.Context, name string) (clusters.Cluster, error)
	// Revert reverts the regressions of an upgrade, and returns what it removed.
	Revert func(context.Context, kubernetes.Interface) ([]string, error)
	Out    io.Writer
}

// Heal heals clusters one after the other, and prints each action. It continues after an error.
func (h Healer) Heal(ctx context.Context, names []string) error {
	if len(names) == 0 {
		_, err := fmt.Fprintln(h.Out, "nothing to heal: there is no cluster")
		return err
	}
	var errs []error
	for _, name := range names {
		c, err := h.Open(ctx, name)
		if errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("heal cluster %s: it does not exist", name))
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%w; if it cannot be opened, remove it with 'holdfast down %s'", err, name))
			continue
		}
		did := 0
		err = h.held(ctx, c, func(what string) {
			did++
			_, _ = fmt.Fprintf(h.Out, "%s: %s\n", name, what)
		})
		switch {
		case err != nil:
			errs = append(errs, err)
		case did == 0:
			_, _ = fmt.Fprintf(h.Out, "%s: nothing to heal\n", name)
		default:
			_, _ = fmt.Fprintf(h.Out, "%s: healed, and every node is Ready\n", name)
		}
	}
	return errors.Join(errs...)
}

// held holds a cluster and heals it. While the API server is unreachable, which may be what needs healing, only runs on this machine
// are known to hold the cluster.
func (h Healer) held(ctx context.Context, c clusters.Cluster, say func(string)) error {
	client, o, err := holdOf(c)
	if err != nil {
		return fmt.Errorf("heal cluster %s: %w", c.Name(), err)
	}
	o.Heal = true
	o.Found = func(dead hold.Holder) { say("released the cluster from " + dead.Run + ", which has ended") }
	held, err := hold.Take(ctx, client, "heal", self.CommandLine(), o)
	var away *hold.UnreachableError
	if err != nil && !errors.As(err, &away) {
		return err
	}
	if err := h.one(ctx, c, say); err != nil {
		return errors.Join(err, held.Leave(ctx, "it could not be healed: "+err.Error()))
	}
	if held == nil { // the API server is reachable now
		if held, err = hold.Take(ctx, client, "heal", self.CommandLine(), o); err != nil {
			return err
		}
	}
	return held.Release(ctx)
}

// one reverts the faults and regressions of an upgrade in a cluster.
func (h Healer) one(ctx context.Context, c clusters.Cluster, say func(string)) error {
	if err := restore.Cluster(ctx, c, say); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("heal cluster %s: %w", c.Name(), err)
	}
	reverted, err := h.Revert(ctx, client)
	for _, what := range reverted {
		say("removed " + what + ", which was planted")
	}
	return err
}

// Clusters lists the clusters that have anything in the engine.
func Clusters(ctx context.Context, e *engine.Engine) (names []string, err error) {
	all, err := kind.List(ctx, e)
	for _, summary := range all {
		names = append(names, summary.Name)
	}
	return names, err
}
