// Package nodenet maintains a node's part of the pod network: the CNI configuration from the node's own podCIDR, routes to the
// pods of other nodes, and rules about egress. It runs on every node of a built image, as the systemd unit holdfast-net. While
// the API server is unavailable it works from the last known list of nodes.
//
// It is neither a CNI plugin (ptp and host-local are) nor a Service proxy, and it supports IPv4 only.
package nodenet

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"
)

// Command is the subcommand of holdfast that calls Run.
const Command = "node-network"

// Source is the source of this package. An image is built again when it changes, and not with every other change of holdfast.
//
//go:embed *.go
var Source embed.FS

const (
	lookEvery = time.Second      // interval of the check for the no-egress file
	syncEvery = 30 * time.Second // interval at which things that other programs removed are restored
)

// Run maintains the network of the node that this process runs on, until ctx ends.
func Run(ctx context.Context) error {
	name, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("read the node's name: %w", err)
	}
	a := &agent{self: name, paths: onNode(), run: execute, mtu: deviceMTU}
	a.keep(ctx)
	return nil
}

// agent is the state of the network on one node.
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
	go follower{paths: a.paths, connect: connect}.follow(ctx, heard)
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
		return // kind has not configured the node yet
	}
	p := makePlan(a.nodes, a.self, subnets, a.egress, a.mtu())
	if err := p.apply(ctx, a.run, a.paths); err != nil {
		slog.Error("set up the network", "error", err)
	}
}
