// Package warm keeps a cluster between runs that follow each other, as `holdfast test --watch` does.
package warm

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
)

// Cluster is the cluster that the runs share. The zero value has none yet.
type Cluster struct {
	cluster clusters.Cluster
	close   func(context.Context, clusters.Cluster) error
	removed func() // reports to Settings.Interrupt that the cluster is removed
}

// Use makes a run use the shared cluster, and leave it. The first run that uses it creates it. A cluster that is not as it was, or that
// has another spec than is wanted, is replaced.
func (w *Cluster) Use(s *run.Settings) {
	create := s.Open
	w.close = s.Close
	s.Open = func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
		if w.cluster != nil && w.fits(ctx, spec) {
			return w.cluster, nil
		}
		if err := w.Remove(ctx); err != nil {
			return nil, err
		}
		c, err := create(ctx, name, spec)
		if err != nil {
			return nil, err
		}
		w.cluster = c
		w.removed = s.Interrupt.Add(interrupt.Pending{
			Undo: "remove cluster " + c.Name(), Done: "cluster " + c.Name() + " is removed", Left: "cluster " + c.Name() + " is left: holdfast down " + c.Name(),
		})
		return c, nil
	}
	s.Close = func(context.Context, clusters.Cluster) error { return nil }
	s.Keep = true
}

// fits reports whether the cluster has the wanted spec, and is as it was.
func (w *Cluster) fits(ctx context.Context, spec clusters.Spec) bool {
	if has, _ := w.cluster.Spec().Unlike(spec); has != "" {
		return false
	}
	client, err := kubernetes.NewForConfig(w.cluster.Config())
	return err == nil && restore.AwaitIntact(ctx, client, w.cluster) == nil
}

// removeLimit bounds Remove. The provider itself has a limit of three minutes for the removal of a cluster.
const removeLimit = 5 * time.Minute

// Remove removes the cluster, if there is one, also if ctx has ended.
func (w *Cluster) Remove(ctx context.Context) error {
	if w.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeLimit)
	defer cancel()
	c := w.cluster
	w.cluster = nil
	if err := w.close(ctx, c); err != nil {
		return fmt.Errorf("remove cluster %s: %w", c.Name(), err)
	}
	w.removed()
	return nil
}
