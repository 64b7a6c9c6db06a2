// Command agent is the systemd unit holdfast-net on a node. It maintains the node's part of the pod network: the CNI
// configuration from the node's own podCIDR, routes to the pods of other nodes, and rules about egress. While the API
// server is away it works from the last known list of nodes.
//
// The agent is neither a CNI plugin (ptp and host-local are) nor a Service proxy, and it supports IPv4 only. It is compiled
// from this source when a node image is built, so it imports only the standard library.
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
	lookEvery = time.Second      // interval of the check for the no-egress file
	syncEvery = 30 * time.Second // interval at which things that other programs removed are restored
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

// agent is the state of the agent on one node.
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
		slog.Error("notify systemd", "error", err)
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

// learn handles a new list of nodes. Most events of a Node change nothing here.
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

// look syncs if the no-egress file appeared or disappeared, and every syncEvery in any case.
func (a *agent) look(ctx context.Context) {
	_, err := os.Stat(a.paths.noEgress)
	egress := errors.Is(err, fs.ErrNotExist)
	if egress != a.egress || time.Since(a.synced) >= syncEvery {
		a.egress = egress
		a.sync(ctx)
	}
}

// sync brings the node's network in line with the plan. A failure is logged, and the next sync tries again.
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
	slog.Debug("network is up to date", "routes", len(p.routes), "egress", a.egress)
}
