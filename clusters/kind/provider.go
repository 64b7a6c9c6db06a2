// Package kind creates clusters of containers with kind's Go library on docker or podman. It stops and starts their nodes
// through the container engine.
//
// It does not rely on kind's report that a cluster is ready: it probes from every node, and from a pod on every node. It does
// not build node images or install engines (see packages nodeimage and engine), and it does not modify the user's kubeconfig.
// It also lists and removes what exists of such clusters, including what a crash has left: for that no API server has to answer.
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

// defaultProveWithin is the default time limit of Prove. Measured: 5 to 15 s for 8 nodes on 2 CPUs. The limit allows for a
// machine that is ten times slower.
const defaultProveWithin = 3 * time.Minute

// Options of a Provider. The zero value works.
type Options struct {
	// Log receives progress messages; nil means slog.Default().
	Log *slog.Logger
	// ProveWithin is how long a cluster may take to become usable after kind has created it; default 3 minutes.
	ProveWithin time.Duration
	// Image is passed to nodeimage.Ensure.
	Image nodeimage.Options
	// Command is the command line that creates the clusters. It is recorded so that a message can name what left a cluster
	// behind.
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

// New returns a provider that uses the given engine.
func New(e *engine.Engine, o Options) *Provider {
	return &Provider{engine: e, options: o}
}

// Create prepares the machine, gets a node image, and creates a cluster that is proven usable. Several processes may create
// clusters concurrently. Within one process, the calls of kind run one after the other. When ctx ends, Create removes what it
// has created before it returns.
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
	maker, err := newMaker(name, p.options.Command)
	if err != nil {
		return nil, err
	}
	if spec.Plain {
		on.audit = auditFolder(maker.State)
	}
	b := builder{
		e: p.engine, log: p.options.logger().With("cluster", name), name: name,
		record: clusterRecord{Spec: spec, Image: on.image, Balancer: on.balancer, Made: time.Now().UTC(), Maker: maker},
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
	if err := checkTools(ctx, b.e, members(b.name, b.record.Spec)[0].name, b.record.Image); err != nil {
		return nil, err
	}
	if err := prioritize(ctx, b.e, b.name, b.record.Spec); err != nil {
		// Not fatal: if the client is late under load, the run is judged Unknown.
		b.log.Warn("the control plane and the load node have no CPU priority", "error", err)
	}
	cluster, err := attach(ctx, b.e, b.name, b.record, p.options)
	if err != nil {
		return nil, err
	}
	return cluster, cluster.Prove(ctx)
}
