package gateway

import (
	"flag"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Options of a gateway. The zero value of a number or a time means its default.
type Options struct {
	// Listen is host:port; default ":8080".
	Listen string
	// Service in Namespace is where upstreams come from: its ready endpoints. Upstreams, host:port, replace it.
	Namespace, Service string
	Upstreams          []string
	Health             Health
	Ejection           Ejection
	// PerTry bounds one try, from the connection to the first 32 KiB of the response; Connect bounds the connection alone.
	PerTry, Connect time.Duration
	// MaxTries bounds the tries for one request, the first included; 1: no retries. Only requests that are safe to
	// repeat (GET, HEAD, OPTIONS, without a body) are tried again, and only while the client has seen no byte.
	MaxTries int
	// NoKeepAlive makes a connection to the upstream for each try.
	NoKeepAlive bool
	Serve       serve.Options
}

// Health says how upstreams are asked whether they are well.
type Health struct {
	Off bool `json:"off,omitempty"`
	// Every so often an upstream is asked; an answer takes at most Timeout.
	Every   time.Duration `json:"every,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// UnhealthyAfter failures in a row an upstream gets no requests, until HealthyAfter successes in a row.
	UnhealthyAfter int `json:"unhealthyAfter,omitempty"`
	HealthyAfter   int `json:"healthyAfter,omitempty"`
}

// Ejection says when an upstream is left out because requests to it failed.
type Ejection struct {
	Off bool `json:"off,omitempty"`
	// After so many failures in a row it is left out For this long.
	After int           `json:"after,omitempty"`
	For   time.Duration `json:"for,omitempty"`
}

// Defaults. A dead node is out of use after a second: two checks, half a second apart. A try is long enough for a busy
// machine. Eight tries are for node ports: until Kubernetes notices that a node is lost, each connection through a
// healthy one may lead to it all the same, and with one of six pods dead five tries still failed once in 5,000 requests.
// They end before clients give up (3 s), as all but the first fail to connect soon.
const (
	DefaultHealthEvery    = 500 * time.Millisecond
	DefaultHealthTimeout  = 500 * time.Millisecond
	DefaultUnhealthyAfter = 2
	DefaultHealthyAfter   = 2
	DefaultEjectAfter     = 3
	DefaultEjectFor       = 5 * time.Second
	DefaultPerTry         = 750 * time.Millisecond
	DefaultConnect        = 250 * time.Millisecond // inside a cluster a connection takes a millisecond, or never comes
	DefaultMaxTries       = 8
)

// WithDefaults fills in what was left empty.
func (o Options) WithDefaults() Options {
	defaultTo(&o.Listen, ":8080")
	defaultTo(&o.Health.Every, DefaultHealthEvery)
	defaultTo(&o.Health.Timeout, DefaultHealthTimeout)
	defaultTo(&o.Health.UnhealthyAfter, DefaultUnhealthyAfter)
	defaultTo(&o.Health.HealthyAfter, DefaultHealthyAfter)
	defaultTo(&o.Ejection.After, DefaultEjectAfter)
	defaultTo(&o.Ejection.For, DefaultEjectFor)
	defaultTo(&o.PerTry, DefaultPerTry)
	defaultTo(&o.Connect, DefaultConnect)
	defaultTo(&o.MaxTries, DefaultMaxTries)
	return o
}

func defaultTo[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Validate says what of the options makes no sense.
func (o Options) Validate() error {
	switch {
	case len(o.Upstreams) == 0 && (o.Namespace == "" || o.Service == ""):
		return fmt.Errorf("no upstreams, and no namespace and service to find them by")
	case o.Health.Every < 0 || o.Health.Timeout < 0 || o.Health.UnhealthyAfter < 0 || o.Health.HealthyAfter < 0:
		return fmt.Errorf("health checks %+v: must not be negative", o.Health)
	case o.Ejection.After < 0 || o.Ejection.For < 0:
		return fmt.Errorf("ejection %+v: must not be negative", o.Ejection)
	case o.PerTry < 0 || o.Connect < 0 || o.MaxTries < 0:
		return fmt.Errorf("%d tries of %s: must not be negative", o.MaxTries, o.PerTry)
	}
	for _, u := range o.Upstreams {
		if _, _, err := net.SplitHostPort(u); err != nil {
			return fmt.Errorf("upstream %q: want host:port: %w", u, err)
		}
	}
	return o.Serve.Validate()
}

// Args are the command line that Parse reads. What is default is left out.
func (o Options) Args() []string {
	var args []string
	add := func(name, value, otherwise string) {
		if value != otherwise {
			args = append(args, "--"+name+"="+value)
		}
	}
	add("listen", o.Listen, "")
	add("namespace", o.Namespace, "")
	add("service", o.Service, "")
	add("upstreams", strings.Join(o.Upstreams, ","), "")
	add("no-health", strconv.FormatBool(o.Health.Off), "false")
	add("health-every", o.Health.Every.String(), "0s")
	add("health-timeout", o.Health.Timeout.String(), "0s")
	add("unhealthy-after", strconv.Itoa(o.Health.UnhealthyAfter), "0")
	add("healthy-after", strconv.Itoa(o.Health.HealthyAfter), "0")
	add("no-ejection", strconv.FormatBool(o.Ejection.Off), "false")
	add("eject-after", strconv.Itoa(o.Ejection.After), "0")
	add("eject-for", o.Ejection.For.String(), "0s")
	add("per-try", o.PerTry.String(), "0s")
	add("connect", o.Connect.String(), "0s")
	add("max-tries", strconv.Itoa(o.MaxTries), "0")
	add("no-keep-alive", strconv.FormatBool(o.NoKeepAlive), "false")
	add("at-term", string(o.Serve.AtTerm), "")
	add("quiet", o.Serve.Quiet.String(), "0s")
	add("limit", o.Serve.Limit.String(), "0s")
	return args
}

// Parse reads a command line.
func Parse(args []string) (Options, error) {
	var o Options
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	flags.StringVar(&o.Listen, "listen", "", "host:port to listen on")
	flags.StringVar(&o.Namespace, "namespace", "", "of the service")
	flags.StringVar(&o.Service, "service", "", "whose ready endpoints are the upstreams")
	flags.Func("upstreams", "host:port, comma between, instead of a service", func(s string) error {
		o.Upstreams = strings.Split(s, ",")
		return nil
	})
	flags.BoolVar(&o.Health.Off, "no-health", false, "do not check upstreams")
	flags.DurationVar(&o.Health.Every, "health-every", 0, "pause between checks")
	flags.DurationVar(&o.Health.Timeout, "health-timeout", 0, "of a check")
	flags.IntVar(&o.Health.UnhealthyAfter, "unhealthy-after", 0, "failed checks in a row")
	flags.IntVar(&o.Health.HealthyAfter, "healthy-after", 0, "good checks in a row")
	flags.BoolVar(&o.Ejection.Off, "no-ejection", false, "do not leave out upstreams whose requests fail")
	flags.IntVar(&o.Ejection.After, "eject-after", 0, "failed requests in a row")
	flags.DurationVar(&o.Ejection.For, "eject-for", 0, "how long an upstream is left out")
	flags.DurationVar(&o.PerTry, "per-try", 0, "time-out of one try")
	flags.DurationVar(&o.Connect, "connect", 0, "time-out of the connection of one try")
	flags.IntVar(&o.MaxTries, "max-tries", 0, "tries for a request, the first included")
	flags.BoolVar(&o.NoKeepAlive, "no-keep-alive", false, "a connection for each try")
	flags.StringVar((*string)(&o.Serve.AtTerm), "at-term", "", "what to do at SIGTERM: "+serve.Ways())
	flags.DurationVar(&o.Serve.Quiet, "quiet", 0, "how long nothing must come for a drain to end")
	flags.DurationVar(&o.Serve.Limit, "limit", 0, "how long a drain may take, and a hold takes")
	if err := flags.Parse(args); err != nil {
		return o, fmt.Errorf("gateway: %w", err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("gateway: unexpected argument %q", flags.Arg(0))
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("gateway: %w", err)
	}
	return o.WithDefaults(), nil
}
