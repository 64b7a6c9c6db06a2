// Command plaincluster makes a cluster as others make it, for trying what holdfast does on clusters that it did not make: plaincluster NAME
//
// The cluster has three workers in the zones a, b and c, holdfast's image on its nodes for use as an application, and an audit log. 'holdfast down NAME'
// removes it. This prints the kubeconfig of a user without rights, in which the server has to be that of the administrator's:
//
//	podman exec holdfast-NAME-control-plane kubeadm kubeconfig user --client-name eve --config /kind/kubeadm.conf
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/workloads/image"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := up(ctx); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "plaincluster:", err)
		os.Exit(1) //nolint:gocritic // the process ends, and with it the signals
	}
}

func up(ctx context.Context) error {
	if len(os.Args) != 2 {
		return errors.New("want the name of the cluster")
	}
	p, err := provider.Kind(ctx, os.Stderr, func(step string) { _, _ = fmt.Fprintln(os.Stderr, step) })
	if err != nil {
		return err
	}
	made, err := p.Create(ctx, os.Args[1], clusters.PlainSpec(os.Getenv("HOLDFAST_KUBERNETES")))
	if err != nil {
		return err
	}
	c, is := made.(*kind.Cluster)
	if !is {
		return fmt.Errorf("the cluster is a %T", made)
	}
	cache, err := engine.CacheDir()
	if err != nil {
		return err
	}
	ref, archive, err := image.Build(p.Executable, filepath.Join(cache, "images"))
	if err != nil {
		return err
	}
	kubeconfig, err := c.Kubeconfig()
	_, _ = fmt.Printf("export KUBECONFIG=%s\nimage: %s\n", kubeconfig, ref)
	return errors.Join(err, c.Keep(), c.LoadImage(ctx, clusters.Image{Ref: ref, Path: archive}))
}
