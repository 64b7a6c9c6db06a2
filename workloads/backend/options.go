package backend

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Options of a backend. Its behaviour comes from flags, its identity from the environment.
type Options struct {
	// Listen is host:port; default ":8080".
	Listen string
	// StartDelay is the delay before the backend listens.
	StartDelay time.Duration
	// ServiceTime is the delay before each answer.
	ServiceTime time.Duration
	// EndingTime replaces ServiceTime while the server drains; 0: ServiceTime.
	EndingTime time.Duration
	// Work is the CPU time that each answer takes.
	Work time.Duration
	// Broken is how a bad version misbehaves instead of serving; default: it serves.
	Broken Broken
	Serve  serve.Options

	// The backend's identity, in the headers of each response.
	Pod, Node, Zone, Revision string
}

// Environment variables with a backend's identity.
const (
	EnvPod      = "POD_NAME"
	EnvNode     = "NODE_NAME"
	EnvRevision = "HOLDFAST_REVISION"
	// EnvZones is a comma-separated list of node=zone. A pod knows its node when it starts but cannot query the node's
	// zone: Kubernetes copies the zone label to pods only since 1.35.
	// Source: https://www.kubernetes.dev/resources/keps/4742/
	EnvZones = "HOLDFAST_ZONES"
)

// flags are the command line of a backend, which sets the options.
func (o *Options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("backend", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the returned error contains the message
	flags.StringVar(&o.Listen, "listen", ":8080", "host:port to listen on")
	flags.DurationVar(&o.StartDelay, "start-delay", 0, "delay before the backend listens")
	flags.DurationVar(&o.ServiceTime, "service-time", 0, "delay before each answer")
	flags.DurationVar(&o.EndingTime, "ending-time", 0, "delay before each answer while the backend drains")
	flags.DurationVar(&o.Work, "work", 0, "CPU time that each answer takes")
	flags.StringVar((*string)(&o.Broken), "broken", "", "do not serve but crash or hang")
	flags.IntVar(&o.Serve.CloseAfter, "close-after", 0, "close a connection after this number of requests")
	o.Serve.AddFlags(flags)
	return flags
}

// Args is the command line that Parse reads. Default values are left out.
func (o Options) Args() []string {
	var set Options
	flags := set.flags()
	set = o
	return serve.Args(flags)
}

// Parse reads a command line and the environment.
func Parse(args []string, getenv func(string) string) (Options, error) {
	o := Options{Pod: getenv(EnvPod), Node: getenv(EnvNode), Revision: getenv(EnvRevision)}
	if err := serve.Parse(o.flags(), args); err != nil {
		return o, err
	}
	if err := errors.Join(o.Broken.validate(), o.Serve.Validate()); err != nil {
		return o, fmt.Errorf("backend: %w", err)
	}
	zone, err := zoneOf(o.Node, getenv(EnvZones))
	if err != nil {
		return o, fmt.Errorf("backend: %s: %w", EnvZones, err)
	}
	o.Zone = zone
	return o, nil
}

// zoneOf looks up a node in a list node=zone,node=zone. A node that is not in the list has no zone.
func zoneOf(node, list string) (string, error) {
	if list == "" {
		return "", nil
	}
	found := ""
	for entry := range strings.SplitSeq(list, ",") {
		name, zone, ok := strings.Cut(entry, "=")
		if !ok {
			return "", fmt.Errorf("%q: want node=zone", entry)
		}
		if name == node {
			found = zone
		}
	}
	return found, nil
}
