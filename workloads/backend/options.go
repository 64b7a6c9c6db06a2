package backend

import (
	"flag"
	"fmt"
	"io"
	"strconv"
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

// Args is the command line that Parse reads. Default values are left out.
func (o Options) Args() []string {
	var args []string
	add := func(name, value, otherwise string) {
		if value != "" && value != otherwise {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("listen", o.Listen, "")
	add("start-delay", o.StartDelay.String(), "0s")
	add("service-time", o.ServiceTime.String(), "0s")
	add("ending-time", o.EndingTime.String(), "0s")
	add("work", o.Work.String(), "0s")
	add("broken", string(o.Broken), "")
	add("at-term", string(o.Serve.AtTerm), "")
	add("quiet", o.Serve.Quiet.String(), "0s")
	add("limit", o.Serve.Limit.String(), "0s")
	add("close-after", strconv.Itoa(o.Serve.CloseAfter), "0")
	return args
}

// Parse reads a command line and the environment.
func Parse(args []string, getenv func(string) string) (Options, error) {
	o := Options{Pod: getenv(EnvPod), Node: getenv(EnvNode), Revision: getenv(EnvRevision)}
	flags := flag.NewFlagSet("backend", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the returned error contains the message
	flags.StringVar(&o.Listen, "listen", ":8080", "host:port to listen on")
	flags.DurationVar(&o.StartDelay, "start-delay", 0, "delay before the backend listens")
	flags.DurationVar(&o.ServiceTime, "service-time", 0, "delay before each answer")
	flags.DurationVar(&o.EndingTime, "ending-time", 0, "delay before each answer while the backend drains")
	flags.DurationVar(&o.Work, "work", 0, "CPU time that each answer takes")
	flags.Func("broken", "do not serve but crash or hang", func(s string) error {
		o.Broken = Broken(s)
		return o.Broken.validate()
	})
	flags.Func("at-term", "what to do at SIGTERM: "+serve.Ways(), func(s string) error {
		o.Serve.AtTerm = serve.AtTerm(s)
		return o.Serve.Validate()
	})
	flags.DurationVar(&o.Serve.Quiet, "quiet", 0, "quiet period after which a drain ends")
	flags.DurationVar(&o.Serve.Limit, "limit", 0, "maximum duration of a drain, and duration of a hold")
	flags.IntVar(&o.Serve.CloseAfter, "close-after", 0, "close a connection after this number of requests")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("backend: %w", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("backend: unexpected argument %q", flags.Arg(0))
	}
	if err := o.Serve.Validate(); err != nil {
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
