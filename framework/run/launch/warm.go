package launch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind/inventory"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

// warm are the clusters of `holdfast up --keep-warm` on this machine.
type warm struct {
	open   func(ctx context.Context, name string) (clusters.Cluster, error)
	usable func(ctx context.Context, c clusters.Cluster) error
	say    func(string)
}

// Warm are the warm clusters of a provider.
func Warm(p provider.Provider, say func(string)) run.Warm {
	return warm{open: p.Open, usable: usable, say: say}
}

// usable returns why a warm cluster cannot be used in place of a new one; nil: it can.
func usable(ctx context.Context, c clusters.Cluster) error {
	if err := maintenance.CheckFree(ctx, c); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return err
	}
	wrong, err := restore.Trouble(ctx, client, c)
	if err == nil && len(wrong) > 0 {
		err = errors.New(strings.Join(wrong, ", "))
	}
	return err
}

// Find returns the first cluster with a spec that can be used. It says why another one with that spec cannot. Without a version, the spec means
// one of the versions that it might mean for a new cluster.
func (w warm) Find(ctx context.Context, spec clusters.Spec) (string, error) {
	names, err := inventory.Warm()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		c, err := w.open(ctx, name)
		if err == nil {
			if !fits(c.Spec(), spec) {
				continue
			}
			err = w.usable(ctx, c)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if err != nil {
			w.say(fmt.Sprintf("cluster %s is kept warm, and cannot be used: %s", name, nextStep(name, err)))
			continue
		}
		w.say(fmt.Sprintf("cluster %s was kept warm, and is used in place of a new one", name))
		return name, nil
	}
	return "", nil
}

// fits reports whether a cluster is as a new one might be.
func fits(has, wanted clusters.Spec) bool {
	if wanted.Kubernetes == "" && !slices.Contains(nodeimage.DefaultVersions(), has.Kubernetes) {
		return false // Unlike accepts any version
	}
	unlike, _ := has.Unlike(wanted)
	return unlike == ""
}

// nextStep adds to the error of a cluster that does not exist how to get rid of its mark: otherwise every run would say so. The error's own next
// step, which makes the cluster, is left out.
func nextStep(name string, err error) error {
	if gone := (*inventory.NotFoundError)(nil); errors.As(err, &gone) {
		return fmt.Errorf("%w: 'holdfast down %s' forgets it", gone, name)
	}
	return err
}

// Spoil makes a cluster one that no run uses in place of a new one.
func (w warm) Spoil(name string) error {
	w.say(fmt.Sprintf("cluster %s is no longer as it was made, and no longer kept warm: holdfast up %s --keep-warm makes another", name, name))
	return inventory.Spoil(name)
}

// KeepWarm gives the nodes of a new cluster what a run would give them first, and marks it as one that may be used in place of a new one.
func KeepWarm(ctx context.Context, p provider.Provider, c clusters.Cluster) error {
	marked, can := c.(interface{ KeepWarm() error })
	if !can {
		return fmt.Errorf("keep cluster %s warm: its provider has no place to note that", c.Name())
	}
	cache, err := engine.CacheDir()
	if err != nil {
		return err
	}
	ref, archive, err := image.Build(p.Executable, filepath.Join(cache, "images"))
	if err != nil {
		return err
	}
	if err := c.LoadImage(ctx, clusters.Image{Ref: ref, Path: archive}); err != nil {
		return fmt.Errorf("load %s: %w", ref, err)
	}
	return marked.KeepWarm()
}
