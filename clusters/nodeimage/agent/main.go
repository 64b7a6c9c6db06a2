// Command agent, on a node the unit holdfast-net, keeps one node's share of the pod network: the CNI configuration from
// the node's own podCIDR, routes to the other nodes' pods, and who may leave the cluster. It works from what it last
// knew while the API server is away.
//
// It is no network plugin (ptp and host-local do that work), no Service proxy, and it knows IPv4 only. It is built into
// a node image from this source, so it imports the standard library and nothing else.
package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

const (
	lookEvery = time.Second      // how soon the no-egress file is noticed
	syncEvery = 30 * time.Second // how soon something that others removed is put back
	retryIn   = 500 * time.Millisecond
)

func main() {
	name, err := os.Hostname()
	if err != nil {
		slog.Error("read the node's name", "error", err)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	a := &agent{self: name, paths: onNode(), run: execute, mtu: deviceMTU}
	a.keep(ctx)
}

// agent is what one node knows and does.
type agent struct {
	self  string
	paths paths
	run   runner
	mtu   func() int

	nodes  []node
	egress bool
	synced time.Time
}

// keep works until ctx ends.
func (a *agent) keep(ctx context.Context) {
	if err := forgetPods(a.paths); err != nil {
		slog.Error("free the addresses of pods that are gone", "error", err)
	}
	a.nodes = recall(a.paths.state)
	a.look(ctx)
	if err := notify(); err != nil {
		slog.Error("tell systemd", "error", err)
	}
	heard := make(chan []node)
	go follow(ctx, a.paths, heard)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case nodes := <-heard:
			a.learn(ctx, nodes)
		case <-look.C:
			a.look(ctx)
		}
	}
}

// learn takes the newest list of nodes. Most events of a node change nothing here.
func (a *agent) learn(ctx context.Context, nodes []node) {
	if slices.Equal(a.nodes, nodes) {
		return
	}
	a.nodes = nodes
	if err := remember(a.paths.state, nodes); err != nil {
		slog.Error("remember the nodes", "error", err)
	}
	a.sync(ctx)
}

// look syncs where the no-egress file came or went, and now and then in any case.
func (a *agent) look(ctx context.Context) {
	_, err := os.Stat(a.paths.noEgress)
	egress := errors.Is(err, fs.ErrNotExist)
	if egress != a.egress || time.Since(a.synced) >= syncEvery {
		a.egress = egress
		a.sync(ctx)
	}
}

// sync makes the node's network what the plan says. What fails is logged and tried again at the next sync.
func (a *agent) sync(ctx context.Context) {
	a.synced = time.Now()
	subnets, err := readSubnets(a.paths.kubeadm)
	if err != nil {
		slog.Debug("not configured yet", "error", err)
		return
	}
	p := makePlan(a.nodes, a.self, subnets, a.egress, a.mtu())
	if err := p.apply(ctx, a.run, a.paths); err != nil {
		slog.Error("set up the network", "error", err)
		return
	}
	slog.Debug("in order", "routes", len(p.routes), "egress", a.egress)
}
