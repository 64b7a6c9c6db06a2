package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Run serves until ctx ends, which stands for SIGTERM, and then shuts down as the options say. It is ready once it knows
// its upstreams.
func Run(ctx context.Context, o Options) error {
	if err := run(ctx, o.WithDefaults(), inCluster); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

func run(ctx context.Context, o Options, connect func() (kubernetes.Interface, error)) error {
	if err := o.Validate(); err != nil {
		return err
	}
	g := newGateway(o)
	stop, err := g.watch(ctx, connect)
	if err != nil {
		return err
	}
	defer stop()
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", o.Listen)
	if err != nil {
		return err
	}
	slog.Info("gateway listens", "address", l.Addr())
	o.Serve.Ready = g.pool.ready
	return serve.Run(ctx, l, o.Serve, g.answers())
}

// watch discovers and checks upstreams until stop is called. It does not end with ctx: a draining gateway still serves
// requests, and needs the changes of its upstreams.
func (g *gateway) watch(ctx context.Context, connect func() (kubernetes.Interface, error)) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var tasks sync.WaitGroup
	stop = func() {
		cancel()
		tasks.Wait()
	}
	if len(g.options.Upstreams) == 0 {
		client, err := connect()
		if err != nil {
			stop()
			return nil, err
		}
		tasks.Go(func() {
			if err := follow(ctx, client, g.options.Namespace, g.options.Service, g.pool.set); err != nil {
				slog.Error("watch upstreams", "error", err)
			}
		})
	}
	if !g.options.Health.Off {
		tasks.Go(func() { newChecker(g.pool).run(ctx) })
	}
	return stop, nil
}
