package launch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/run"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Make makes a cluster that outlives this process. After an error, also after Ctrl-C, it removes what was made.
func Make(ctx context.Context, p provider.Provider, name string, spec clusters.Spec) (clusters.Cluster, error) {
	made := interrupt.Of(ctx).Add(interrupt.Pending{
		Undo: "remove what is made of cluster " + name, Done: "what was made of cluster " + name + " is removed",
		Left: "cluster " + name + " is left: holdfast down " + name,
	})
	c, err := p.Create(ctx, name, spec)
	if err == nil {
		err = keepNew(ctx, c)
	}
	if !errors.Is(err, clusters.ErrLeft) {
		made()
	}
	return c, err
}

// keepLimit bounds the removal of a cluster that could not be kept. The provider itself has a limit of three minutes.
const keepLimit = 5 * time.Minute

// keepNew lets a new cluster outlive this process. If that fails, it removes the cluster.
func keepNew(ctx context.Context, c clusters.Cluster) error {
	kept, can := c.(interface{ Keep() error })
	if !can {
		return nil
	}
	err := kept.Keep()
	if err == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLimit)
	defer cancel()
	if left := c.Delete(ctx); left != nil {
		return errors.Join(err, fmt.Errorf("%w: %w: try 'holdfast down %s'", clusters.ErrLeft, left, c.Name()))
	}
	return err
}

// OnCluster returns the chosen scenarios that run on the cluster of --cluster. If it does not exist, it makes the one that most of them need. A *MisfitError
// is about named scenarios that do not run on it. Scenarios of a scope that need another cluster are skipped, and counted.
func OnCluster(ctx context.Context, o run.Options, p provider.Provider, chosen []scenario.Spec, say func(string)) ([]scenario.Spec, error) {
	if o.Cluster == "" || len(chosen) == 0 {
		return chosen, nil
	}
	c, err := p.Open(ctx, o.Cluster)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	spec := scenario.MostNeeded(chosen, o.Needs)
	if !missing {
		spec = c.Spec()
	}
	fit, note, err := o.On(spec, chosen)
	if err != nil {
		return nil, &MisfitError{err}
	}
	if note != "" {
		say(note)
	}
	if !missing {
		return fit, maintenance.CheckFree(ctx, c)
	}
	say(fmt.Sprintf("cluster %s does not exist: it is made, and stays until 'holdfast down %s'", o.Cluster, o.Cluster))
	_, err = Make(ctx, p, o.Cluster, spec)
	return fit, err
}

// MisfitError is about scenarios that do not run on the cluster of --cluster.
type MisfitError struct{ error }

// Unwrap returns the error that names the scenarios.
func (e *MisfitError) Unwrap() error { return e.error }
