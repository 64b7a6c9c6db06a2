package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/interrupt"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run/fit"
)

// Pool holds the cluster that scenarios share, also those of several runs: see Settings.Shared. The next scenario gets the same cluster if it
// needs one with the same spec. At most one cluster exists at a time, because two would share the machine's cores. The zero value has none yet.
type Pool struct {
	settings *Settings
	spec     clusters.Spec
	cluster  clusters.Cluster
	made     int // number of clusters so far, for their names

	fit runfolder.Fit // what the cluster's machine carries

	hold  *hold.Hold
	given func() // reports to Settings.Interrupt that the cluster is given back
	// broken is how a scenario left an existing cluster changed, and check repeats the check; nil: it is unchanged.
	broken error
	check  func(context.Context) error
}

// get returns a cluster with a spec. No other run uses it.
func (p *Pool) get(ctx context.Context, spec clusters.Spec) (clusters.Cluster, error) {
	spec = spec.WithDefaults()
	if p.cluster != nil && p.spec.Kubernetes != "" { // an upgrade may have changed it
		p.spec.Kubernetes = p.cluster.Spec().Kubernetes
	}
	if p.cluster != nil && sameCluster(p.spec, spec) {
		return p.cluster, p.lookAgain(ctx)
	}
	if err := p.Discard(ctx); err != nil {
		return nil, err
	}
	return p.open(ctx, spec)
}

// open opens or makes a cluster, and holds it.
func (p *Pool) open(ctx context.Context, spec clusters.Spec) (clusters.Cluster, error) {
	name := p.settings.Cluster
	if name == "" {
		p.made++
		name = p.settings.clusterName(p.made)
	}
	p.given = p.settings.Interrupt.Add(p.pending(name))
	c, err := p.settings.Open(ctx, name, spec)
	if err != nil {
		if !errors.Is(err, clusters.ErrLeft) {
			p.given()
		}
		return nil, fmt.Errorf("provision a cluster: %w", err)
	}
	p.cluster, p.spec = c, spec
	if p.settings.Hold != nil {
		if p.hold, err = p.settings.Hold(ctx, c); err != nil {
			return nil, errors.Join(err, p.Discard(ctx))
		}
	}
	if p.fit, err = fit.Of(ctx, c, fit.Options{Measure: p.settings.Measure, Rate: p.settings.LoadRate}, p.settings.Cluster != "" || p.settings.Keep, p.settings.Progress); err != nil {
		return nil, errors.Join(err, p.Discard(ctx))
	}
	return c, nil
}

// pending is what has to be done with a cluster before the process ends.
func (p *Pool) pending(name string) interrupt.Pending {
	if p.settings.Keep {
		return interrupt.Pending{
			Undo: "leave cluster " + name + " as it was", Done: "cluster " + name + " is as it was, and kept",
			Left: "cluster " + name + " is left: holdfast down " + name,
		}
	}
	if p.settings.Cluster != "" {
		return interrupt.Pending{
			Undo: "give cluster " + name + " back", Done: "cluster " + name + " is as it was",
			Left: "cluster " + name + " may be left in the middle of a fault: holdfast heal " + name,
		}
	}
	return interrupt.Pending{
		Undo: "remove cluster " + name, Done: "cluster " + name + " is removed",
		Left: "cluster " + name + " is left: holdfast down " + name,
	}
}

// discardLimit bounds Discard. The provider itself has a limit of three minutes for the removal of a cluster.
const discardLimit = 5 * time.Minute

// Discard gives the cluster back, if there is one, also if ctx has ended. The next scenario gets a new cluster. An existing
// cluster that was left changed is marked as such for its next user.
func (p *Pool) Discard(ctx context.Context) error {
	if p.cluster == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	c, h, broken := p.cluster, p.hold, p.broken
	p.cluster, p.hold, p.broken = nil, nil, nil
	if broken != nil {
		return h.Leave(ctx, broken.Error())
	}
	released := h.Release(ctx)
	if err := p.settings.Close(ctx, c); err != nil {
		return fmt.Errorf("give back cluster %s: %w", c.Name(), err)
	}
	p.given()
	if p.settings.Cluster == "" { // the Lease is gone with the cluster
		return nil
	}
	return released
}

// keepIfHealthy discards a cluster that a scenario left changed. An existing cluster cannot be replaced, so the next scenario
// checks it again.
func (p *Pool) keepIfHealthy(ctx context.Context, check func(context.Context) error) error {
	err := check(ctx)
	switch {
	case err == nil:
		return nil
	case p.settings.Cluster != "":
		p.broken, p.check = err, check
		return p.notAsItWas()
	}
	p.hold.Drop() // the cluster may not answer any more
	p.hold = nil
	return errors.Join(fmt.Errorf("the cluster is not as it was, and is given up: %w", err), p.Discard(ctx))
}

// lookAgain repeats the check of an existing cluster: some changes revert with time.
func (p *Pool) lookAgain(ctx context.Context) error {
	if p.broken == nil {
		return nil
	}
	if p.broken = p.check(ctx); p.broken != nil {
		return p.notAsItWas()
	}
	return nil
}

// notAsItWas is the error about an existing cluster that was left changed.
func (p *Pool) notAsItWas() error {
	return fmt.Errorf("cluster %s is not as it was: %w: run 'holdfast heal %s'", p.settings.Cluster, p.broken, p.settings.Cluster)
}
