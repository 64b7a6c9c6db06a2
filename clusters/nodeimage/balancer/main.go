// Command balancer replaces Envoy, under Envoy's name, in the container that kind starts in front of several control
// planes. It reads the files that kind writes for Envoy and runs HAProxy with an equivalent configuration. Names, ports,
// intervals and thresholds come from those files, so that measurements through HAProxy are close to those with kind's own
// load balancer.
//
// It supports only the part of Envoy's configuration that kind writes: one TCP listener in front of one cluster with an
// HTTP health check. It is compiled from this source when the balancer's image is built, so it imports only the standard
// library and a YAML library.
//
// Source: sigs.k8s.io/kind/pkg/cluster/internal/loadbalancer
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

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

func main() {
	bootstrap := flag.String("c", "/home/envoy/envoy.yaml", "Envoy's bootstrap file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := newBalancer(*bootstrap, configFile, haproxy).keep(ctx)
	stop()
	if err != nil { // kind's shell restarts this program after a second
		slog.Error("balance the load of the control planes", "error", err)
		os.Exit(1)
	}
}
