// Package balancer replaces Envoy in the container that kind starts in front of several control planes. It reads the files that
// kind writes for Envoy and runs HAProxy with an equivalent configuration. Names, ports, intervals and thresholds come from those
// files, so that measurements through HAProxy are close to those with kind's own load balancer.
//
// It supports only the part of Envoy's configuration that kind writes: one TCP listener in front of one cluster with an HTTP
// health check.
//
// Source: sigs.k8s.io/kind/pkg/cluster/internal/loadbalancer
package balancer

import (
	"context"
	"embed"
	"time"
)

// Command is the subcommand of holdfast that calls Run.
const Command = "balancer"

// Source is the source of this package. The load balancer's image is built again when it changes, and not with every other
// change of holdfast.
//
//go:embed *.go
var Source embed.FS

const (
	haproxy = "/usr/sbin/haproxy"
	// configFile is HAProxy's configuration, generated from Envoy's.
	configFile = "/run/haproxy.cfg"
	// lookEvery is the interval at which changed files are noticed. Envoy uses inotify and notices at once. But that takes
	// one of a machine's 128 inotify instances, and kind does not wait for the balancer.
	lookEvery = 200 * time.Millisecond
	// resolveEvery is the interval at which the control planes' names are resolved, the same as for Envoy's STRICT_DNS.
	resolveEvery = 5 * time.Second
)

// Run balances the load of the control planes, as Envoy's bootstrap file describes, until ctx ends. kind restarts the process a
// second after an error.
func Run(ctx context.Context, bootstrap string) error {
	return newBalancer(bootstrap, configFile, haproxy).keep(ctx)
}
