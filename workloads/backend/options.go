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

// Options of a backend. How it behaves comes from flags, who it is from the environment.
type Options struct {
	// Listen is host:port; default ":8080".
	Listen string
	// StartDelay passes before it listens.
	StartDelay time.Duration
	// ServiceTime passes before each answer.
	ServiceTime time.Duration
	// EndingTime passes instead once the server drains; 0: ServiceTime still does.
	EndingTime time.Duration
	// Work is how much processor time each answer takes.
	Work time.Duration
	// Broken is how a bad version misbehaves instead of serving; default: it serves.
	Broken Broken
	Serve  serve.Options

	// Who it is, in the headers of each response.
	Pod, Node, Zone, Revision string
}

// Environment variables that say who a backend is.
const (
	EnvPod      = "POD_NAME"
	EnvNode     = "NODE_NAME"
	EnvRevision = "HOLDFAST_REVISION"
	// EnvZones lists node=zone, comma between. A pod knows its node when it starts and cannot ask for that node's zone:
	// Kubernetes copies the zone's label to pods from 1.35 on only.
	// Source: https://www.kubernetes.dev/resources/keps/4742/
	EnvZones = "HOLDFAST_ZONES"
)

// Args are the command line that Parse reads. What is default is left out.
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
	flags.SetOutput(io.Discard) // the error says it
	flags.StringVar(&o.Listen, "listen", ":8080", "host:port to listen on")
	flags.DurationVar(&o.StartDelay, "start-delay", 0, "pass before it listens")
	flags.DurationVar(&o.ServiceTime, "service-time", 0, "pass before each answer")
	flags.DurationVar(&o.EndingTime, "ending-time", 0, "pass before each answer while it drains")
	flags.DurationVar(&o.Work, "work", 0, "processor time that each answer takes")
	flags.Func("broken", "do not serve but crash or hang", func(s string) error {
		o.Broken = Broken(s)
		return o.Broken.validate()
	})
	flags.Func("at-term", "what to do at SIGTERM: "+serve.Ways(), func(s string) error {
		o.Serve.AtTerm = serve.AtTerm(s)
		return o.Serve.Validate()
	})
	flags.DurationVar(&o.Serve.Quiet, "quiet", 0, "how long nothing must come for a drain to end")
	flags.DurationVar(&o.Serve.Limit, "limit", 0, "how long a drain may take, and a hold takes")
	flags.IntVar(&o.Serve.CloseAfter, "close-after", 0, "close a connection after so many requests")
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

// zoneOf finds a node in a list node=zone,node=zone. A node that is not in it has no zone.
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
