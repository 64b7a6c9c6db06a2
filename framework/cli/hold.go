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
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/restore"
)

// commandLine is how this process was started, for whoever finds what it has left.
func commandLine() string { return strings.Join(append([]string{"holdfast"}, os.Args[1:]...), " ") }

// copyFile, in the folder of a cluster, says who holds it while its API server is away.
const copyFile = "held-by.json"

// holdOptions are those of a cluster.
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

// holdOf are the client and the options with which a cluster is held.
func holdOf(c clusters.Cluster) (kubernetes.Interface, hold.Options, error) {
	o, err := holdOptions(c)
	if err != nil {
		return nil, o, err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	return client, o, err
}

// take has a cluster for this process alone.
func take(ctx context.Context, c clusters.Cluster, run string) (*hold.Hold, error) {
	client, o, err := holdOf(c)
	if err != nil {
		return nil, err
	}
	return hold.Take(ctx, client, run, commandLine(), o)
}

// free says why a cluster cannot be used: somebody else does, or a killed run has left it in the middle of a fault. It takes nothing.
func free(ctx context.Context, c clusters.Cluster) error {
	client, o, err := holdOf(c)
	if err != nil {
		return err
	}
	err = hold.Check(ctx, client, o)
	var away *hold.UnreachableError
	if err == nil || errors.As(err, &away) { // its machines may tell why
		err = errors.Join(restore.Check(ctx, c), err)
	}
	return err
}

// left names what runs that were killed have left: clusters that nobody will remove, and clusters in the middle of a fault.
func left(made []kind.Made) (lines []string) {
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

// heldBy says who holds a cluster, or held it and was killed, by what this machine knows of it; nil: nobody.
func heldBy(name string) error {
	if name == "" {
		return nil
	}
	dir, err := kind.StateDir(name)
	if err != nil {
		return nil //nolint:nilerr // one that is not ours has no files of ours
	}
	return hold.CheckCopy(hold.Options{Cluster: name, Copy: filepath.Join(dir, copyFile)})
}

// inUse says who uses a cluster that is about to be removed; nil: nobody, as far as can be told.
func inUse(ctx context.Context, name string, made []kind.Made, open func(context.Context, string) (clusters.Cluster, error)) error {
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
		return nil //nolint:nilerr // what cannot be opened is used by nobody
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
