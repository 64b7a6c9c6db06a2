// Command balancer stands in for Envoy, under Envoy's name, in the container that kind puts before several control planes:
// it reads the files that kind writes for Envoy, and has HAProxy do what they say. Names, ports, intervals and thresholds
// are taken from those files, so that what is measured through HAProxy is near what kind's own balancer would do.
//
// It knows what kind writes and nothing else of Envoy: one TCP listener before one cluster with an HTTP health check. It is
// built into an image from this source, so it imports the standard library and a YAML reader.
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
	// configFile is HAProxy's, written from Envoy's.
	configFile = "/run/haproxy.cfg"
	// lookEvery is how soon a file that kind has moved into place is noticed. Envoy is told at once, by inotify; that is one of
	// a machine's 128 instances, and kind does not wait.
	lookEvery = 200 * time.Millisecond
	// resolveEvery is how often the names of the control planes are looked up, as Envoy's STRICT_DNS does.
	resolveEvery = 5 * time.Second
)

func main() {
	bootstrap := flag.String("c", "/home/envoy/envoy.yaml", "Envoy's bootstrap file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	err := newBalancer(*bootstrap, configFile, haproxy).keep(ctx)
	stop()
	if err != nil { // kind's shell starts us again after a second
		slog.Error("balance the load of the control planes", "error", err)
		os.Exit(1)
	}
}
