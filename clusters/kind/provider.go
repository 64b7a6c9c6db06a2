// Package kind makes clusters of containers with kind's own library, on docker or podman, and takes their nodes away
// and brings them back through the engine.
//
// It trusts no word of kind's that a cluster is ready: it asks every node, and a pod on every node. It does not build
// node images or install engines (see nodeimage and engine), and it writes no kubeconfig of the user's.
package kind

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// defaultProveWithin is the limit of a proof. Measured: 5 to 15 s for 8 nodes on 2 cores; this is for a machine that
// is ten times slower.
const defaultProveWithin = 3 * time.Minute

// Options of a Provider. The zero value works.
type Options struct {
	// Log is told of progress; nil is slog.Default().
	Log *slog.Logger
	// ProveWithin is how long a cluster may take from kind's word that it is made to the proof; default 3 minutes.
	ProveWithin time.Duration
	// Image is passed on to nodeimage.Ensure.
	Image nodeimage.Options
	// Command is the command line that makes clusters, so that what it leaves can be told apart.
	Command string
}

func (o Options) logger() *slog.Logger {
	if o.Log == nil {
		return slog.Default()
	}
	return o.Log
}

func (o Options) proveWithin() time.Duration {
	if o.ProveWithin == 0 {
		return defaultProveWithin
	}
	return o.ProveWithin
}

// Provider makes kind clusters with one engine.
type Provider struct {
	engine  *engine.Engine
	options Options
}

var _ clusters.Provider = (*Provider)(nil)

// New makes clusters with an engine that was found.
func New(e *engine.Engine, o Options) *Provider {
	return &Provider{engine: e, options: o}
}

// Create prepares the machine, gets a node image and makes a cluster that is proven usable. Two processes may create at
// once; in one process, one creation waits for the other. When ctx ends, what was made is removed before it returns.
func (p *Provider) Create(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error) {
	cluster, err := p.create(ctx, name, spec.WithDefaults())
	if err != nil {
		return nil, fmt.Errorf("create cluster %s: %w", name, err)
	}
	return cluster, nil
}

func (p *Provider) create(ctx context.Context, name string, spec clusters.Spec) (*Cluster, error) {
	if err := errors.Join(checkName(name), spec.Validate()); err != nil {
		return nil, err
	}
	if spec.ProxyMode == clusters.IPVS {
		if err := clusters.KernelHasIPVS(); err != nil {
			return nil, fmt.Errorf("kube-proxy in ipvs mode is not supported here: %w", err)
		}
	}
	on, spec, err := p.prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	maker, err := makerOf(name, p.options.Command)
	if err != nil {
		return nil, err
	}
	b := builder{
		e: p.engine, log: p.options.logger().With("cluster", name), name: name,
		record: record{Spec: spec, Image: on.image, Balancer: on.balancer, Made: time.Now().UTC(), Maker: maker},
		config: configure(name, spec, on),
	}
	if err := b.claim(ctx); err != nil {
		return nil, err
	}
	cluster, err := p.build(ctx, b)
	if err != nil {
		return nil, errors.Join(err, b.discard(ctx))
	}
	return cluster, nil
}

func (p *Provider) build(ctx context.Context, b builder) (*Cluster, error) {
	if err := b.make(ctx); err != nil {
		return nil, err
	}
	if err := favourLoad(ctx, b.e, b.name, b.record.Spec); err != nil {
		// Under load the run will be judged Unknown where its own client came too late: a cluster it is all the same.
		b.log.Warn("the load has no priority on this machine", "error", err)
	}
	cluster, err := open(ctx, b.e, b.name, b.record, p.options)
	if err != nil {
		return nil, err
	}
	return cluster, cluster.Prove(ctx)
}
