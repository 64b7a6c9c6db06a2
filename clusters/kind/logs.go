package kind

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters"
)

// CollectLogs writes one folder a node: what the engine says of it, its console, its journal, and its /var/log, in
// which the pods' logs lie. A node that is down or frozen has no journal to give; the rest is copied from its disk. It
// writes as much as it can, whatever fails.
func (c *Cluster) CollectLogs(ctx context.Context, dir string) error {
	errs := make([]error, len(c.nodes))
	var group errgroup.Group
	group.SetLimit(2) // copying is the engine's work, and it shares one disk
	for i, n := range c.nodes {
		group.Go(func() error {
			errs[i] = n.collectLogs(ctx, filepath.Join(dir, n.name))
			return nil
		})
	}
	_ = group.Wait() // errors are in errs
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("collect the logs of cluster %s: %w", c.name, err)
	}
	return nil
}

func (n *Node) collectLogs(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	state, err := n.State(ctx)
	errs := []error{
		err,
		n.print(ctx, filepath.Join(dir, "inspect.json"), "inspect", "--type", "container", n.name),
		n.print(ctx, filepath.Join(dir, "console.log"), "logs", n.name),
	}
	if state == clusters.Running {
		journal := []string{"exec", "--privileged", n.name, "journalctl", "--no-pager"}
		errs = append(errs, n.print(ctx, filepath.Join(dir, "journal.log"), journal...))
	}
	_, err = n.cluster.e.Output(ctx, "cp", n.name+":/var/log/.", dir)
	return errors.Join(append(errs, err)...)
}

// print writes what a command of the engine prints to a file.
func (n *Node) print(ctx context.Context, path string, args ...string) error {
	out, err := n.cluster.e.Output(ctx, args...)
	return errors.Join(err, os.WriteFile(path, out, 0o644))
}
