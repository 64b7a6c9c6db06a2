package maintenance

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
)

// CopyFile is the file in a cluster's folder that names the holder while the API server is unreachable.
const CopyFile = "held-by.json"

// holdOptions are the options for holding a cluster.
func holdOptions(c clusters.Cluster) (hold.Options, error) {
	o := hold.Options{Cluster: c.Name()}
	if here, keepsFiles := c.(interface{ StateDir() (string, error) }); keepsFiles {
		dir, err := here.StateDir()
		if err != nil {
			return o, err
		}
		o.Copy = filepath.Join(dir, CopyFile)
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

// Take holds a cluster for a run of this process.
func Take(ctx context.Context, c clusters.Cluster, run string) (*hold.Hold, error) {
	client, o, err := holdOf(c)
	if err != nil {
		return nil, err
	}
	return hold.Take(ctx, client, run, self.CommandLine(), o)
}

// CheckFree returns why a cluster cannot be used: another run uses it, or a killed run left it with a fault in force. It does not hold
// the cluster.
func CheckFree(ctx context.Context, c clusters.Cluster) error {
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

// Leftovers lists what killed runs left: clusters that no process will remove, and clusters with a fault in force.
func Leftovers(made []kind.Made) (lines []string) {
	for _, m := range made {
		if m.Abandoned() {
			lines = append(lines, m.String())
			continue
		}
		var dead *hold.AbandonedError
		if err := CheckHolder(m.Name); errors.As(err, &dead) {
			lines = append(lines, err.Error())
		}
	}
	return lines
}

// CheckHolder returns an error that names the run on this machine that holds a cluster, or that held it and was killed; nil: none.
func CheckHolder(name string) error {
	dir, err := kind.StateDir(name)
	if err != nil {
		return nil //nolint:nilerr // no name, or a cluster that is not ours and has no such file
	}
	return hold.CheckCopy(hold.Options{Cluster: name, Copy: filepath.Join(dir, CopyFile)})
}

// inUse is an error that names the run that uses a cluster that is about to be removed; nil: none is known.
func inUse(ctx context.Context, name string, made []kind.Made, open func(context.Context, string) (clusters.Cluster, error)) error {
	for _, m := range made {
		if m.Name == name && m.InUse() {
			return fmt.Errorf("cluster %s belongs to '%s', which is still running (%s)", name, m.Command, m.Process)
		}
	}
	var held *hold.HeldError
	if err := CheckHolder(name); errors.As(err, &held) {
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

// CheckRemoval refuses to remove clusters that are in use; without names: all clusters. With force, or without names, it only says which
// runs lose their clusters.
func CheckRemoval(ctx context.Context, e *engine.Engine, say func(string, ...any), names []string, force bool) error {
	made, err := kind.Makers(ctx, e)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		force = true
		if names, err = Clusters(ctx, e); err != nil {
			return err
		}
	}
	for _, name := range names {
		err := inUse(ctx, name, made, func(ctx context.Context, name string) (clusters.Cluster, error) {
			return kind.Open(ctx, e, name, kind.Options{})
		})
		if err == nil {
			continue
		}
		if !force {
			return fmt.Errorf("%w; 'holdfast down %s --force' removes it all the same", err, name)
		}
		say("%s; it is removed all the same", err)
	}
	return nil
}
