package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
)

// pool holds the cluster that scenarios share: as long as the next one asks for the same cluster it gets the same, in a
// namespace of its own. At most one exists at a time: two would share two cores.
type pool struct {
	settings *Settings
	spec     clusters.Spec
	cluster  clusters.Cluster
	made     int // clusters so far, so that each has a name of its own
}

// get returns a cluster made to spec.
func (p *pool) get(ctx context.Context, spec clusters.Spec) (clusters.Cluster, error) {
	spec = spec.WithDefaults()
	if p.cluster != nil && p.spec.Kubernetes != "" { // an upgrade may have changed it
		p.spec.Kubernetes = p.cluster.Spec().Kubernetes
	}
	if p.cluster != nil && sameCluster(p.spec, spec) {
		return p.cluster, nil
	}
	if err := p.discard(ctx); err != nil {
		return nil, err
	}
	p.made++
	c, err := p.settings.Open(ctx, p.settings.clusterName(p.made), spec)
	if err != nil {
		return nil, fmt.Errorf("provision a cluster: %w", err)
	}
	p.cluster, p.spec = c, spec
	return c, nil
}

// discardLimit bounds the giving back of a cluster. Removing one has been given three minutes where that is done.
const discardLimit = 5 * time.Minute

// discard gives the cluster back, if there is one: the next scenario gets a new one. It does so also when ctx has ended,
// for nobody else will.
func (p *pool) discard(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	c := p.cluster
	p.cluster = nil
	if err := p.settings.Close(ctx, c); err != nil {
		return fmt.Errorf("give back cluster %s: %w", c.Name(), err)
	}
	return nil
}

// keepIfHealthy gives a cluster back that a scenario left in another state than it found it.
func (p *pool) keepIfHealthy(ctx context.Context, check func(context.Context) error) error {
	if err := check(ctx); err != nil {
		return errors.Join(fmt.Errorf("the cluster is not as it was, the next scenario gets a new one: %w", err), p.discard(ctx))
	}
	return nil
}
