package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/restore"
)

// commandLine is how this process was started. It is recorded in everything that the process creates, so that messages can name it.
func commandLine() string { return prose.Shorten("holdfast "+strings.Join(os.Args[1:], " "), 100) }

// copyFile is the file in a cluster's folder that names the holder while the API server is unreachable.
const copyFile = "held-by.json"

// holdOptions are the options for holding a cluster.
func holdOptions(c clusters.Cluster) (hold.Options, error) {
	o := hold.Options{Cluster: c.Name()}
	if here, keepsFiles := c.(interface{ StateDir() (string, error) }); keepsFiles {
		dir, err := here.StateDir()
		if err != nil {
			return o, err
		}
		o.Copy = filepath.Join(dir, copyFile)
	}
	return o, nil
}

// holdOf returns the client and the options for holding a cluster.
func holdOf(c clusters.Cluster) (kubernetes.Interface, hold.Options, error) {
	o, err := holdOptions(c)
	if err != nil {
		return nil, o, err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	return client, o, err
}

// take holds a cluster for this process.
func take(ctx context.Context, c clusters.Cluster, run string) (*hold.Hold, error) {
	client, o, err := holdOf(c)
	if err != nil {
		return nil, err
	}
	return hold.Take(ctx, client, run, commandLine(), o)
}

// free is why a cluster cannot be used: another run uses it, or a killed run left it with a fault in force. It does not hold the cluster.
func free(ctx context.Context, c clusters.Cluster) error {
	client, o, err := holdOf(c)
	if err != nil {
		return err
	}
	err = hold.Check(ctx, client, o)
	var away *hold.UnreachableError
	if err == nil || errors.As(err, &away) { // the state of its nodes may show why
		err = errors.Join(restore.Check(ctx, c), err)
	}
	return err
}

// left lists what killed runs left: clusters that no process will remove, and clusters with a fault in force.
func left(made []inventory.Made) (lines []string) {
	for _, m := range made {
		if m.Abandoned() {
			lines = append(lines, m.String())
			continue
		}
		var dead *hold.AbandonedError
		if err := heldBy(m.Name); errors.As(err, &dead) {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

// heldBy is an error that names the run on this machine that holds a cluster, or that held it and was killed; nil: none.
func heldBy(name string) error {
	dir, err := inventory.StateDir(name)
	if err != nil {
		return nil //nolint:nilerr // no name, or a cluster that is not ours and has no such file
	}
	return hold.CheckCopy(hold.Options{Cluster: name, Copy: filepath.Join(dir, copyFile)})
}

// inUse is an error that names the run that uses a cluster that is about to be removed; nil: none is known.
func inUse(ctx context.Context, name string, made []inventory.Made, open func(context.Context, string) (clusters.Cluster, error)) error {
	for _, m := range made {
		if m.Name == name && m.InUse() {
			return fmt.Errorf("cluster %s belongs to '%s', which is still running (%s)", name, m.Command, m.Process)
		}
	}
	var held *hold.HeldError
	if err := heldBy(name); errors.As(err, &held) {
		return err
	}
	c, err := open(ctx, name)
	if err != nil {
		return nil //nolint:nilerr // a cluster that cannot be opened is not in use
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return nil //nolint:nilerr // as above
	}
	if err := hold.Check(ctx, client, hold.Options{Cluster: name}); errors.As(err, &held) {
		return err
	}
	return nil
}
