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

// CollectLogs writes one folder per node with the output of the engine's inspect, the console, the journal, and /var/log, which
// contains the pods' logs. With several control planes it also writes the console of their load balancer. A node that is down
// or frozen has no journal; the rest is copied from its disk. An error does not stop the collection of the remaining logs.
func (c *Cluster) CollectLogs(ctx context.Context, dir string) error {
	errs := make([]error, len(c.nodes))
	var group errgroup.Group
	group.SetLimit(2) // all copies share the engine and one disk
	for i, n := range c.nodes {
		group.Go(func() error {
			errs[i] = n.collectLogs(ctx, filepath.Join(dir, n.name))
			return nil
		})
	}
	_ = group.Wait() // errors are in errs
	errs = append(errs, c.collectBalancer(ctx, dir))
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
	e := n.cluster.e
	errs := []error{
		err,
		printTo(ctx, e, filepath.Join(dir, "inspect.json"), "inspect", "--type", "container", n.name),
		printTo(ctx, e, filepath.Join(dir, "console.log"), "logs", n.name),
	}
	if state == clusters.Running {
		journal := []string{"exec", "--privileged", n.name, "journalctl", "--no-pager"}
		errs = append(errs, printTo(ctx, e, filepath.Join(dir, "journal.log"), journal...))
	}
	_, err = e.Output(ctx, "cp", n.name+":/var/log/.", dir)
	return errors.Join(append(errs, err)...)
}

// collectBalancer writes the log of the load balancer, which shows when each control plane was considered down or up.
func (c *Cluster) collectBalancer(ctx context.Context, dir string) error {
	if c.record.Spec.ControlPlanes < 2 {
		return nil
	}
	name := prefix + c.name + balancerSuffix
	dir = filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return printTo(ctx, c.e, filepath.Join(dir, "console.log"), "logs", name)
}

// printTo writes the output of an engine command to a file.
func printTo(ctx context.Context, e runner, path string, args ...string) error {
	out, err := e.Output(ctx, args...)
	return errors.Join(err, os.WriteFile(path, out, 0o644))
}
