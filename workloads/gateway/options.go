package gateway

import (
	"flag"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Options of a gateway. Zero numbers and durations mean the defaults.
type Options struct {
	// Listen is host:port; default ":8080".
	Listen string
	// Namespace and Service: the Service's ready endpoints are the upstreams. Upstreams, each host:port, replace them.
	Namespace, Service string
	Upstreams          []string
	Health             Health
	Ejection           Ejection
	// PerTry is the time-out of one try, from connecting to the first 32 KiB of the response; Connect is that of
	// connecting.
	PerTry, Connect time.Duration
	// MaxTries limits the tries of one request, the first included; 1: no retries. Only requests that are safe to repeat
	// (GET, HEAD, OPTIONS, without a body) are retried, and only before the client has received a byte.
	MaxTries int
	// NoKeepAlive opens a new connection to the upstream for each try.
	NoKeepAlive bool
	Serve       serve.Options
}

// Health configures the health checks of upstreams.
type Health struct {
	Off bool `json:"off,omitempty"`
	// Every is the interval of checks, Timeout the time-out of one check.
	Every   time.Duration `json:"every,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
	// After UnhealthyAfter consecutive failures an upstream gets no requests, until HealthyAfter consecutive successes.
	UnhealthyAfter int `json:"unhealthyAfter,omitempty"`
	HealthyAfter   int `json:"healthyAfter,omitempty"`
}

// Ejection configures when an upstream is left out because requests to it failed.
type Ejection struct {
	Off bool `json:"off,omitempty"`
	// After this many consecutive failures the upstream is left out for the duration For.
	After int           `json:"after,omitempty"`
	For   time.Duration `json:"for,omitempty"`
}

// Defaults. A dead node is out of use after a second: two checks, half a second apart. A try is long enough for a busy
// machine. Eight tries are for node ports: until Kubernetes notices that a node is lost, a connection through a healthy
// node's port may still be forwarded to the lost node. With one of six pods dead, five tries still failed once in 5,000
// requests. All tries together end before clients give up (3 s), because every try but the first fails quickly, at
// connecting.
const (
	DefaultHealthEvery    = 500 * time.Millisecond
	DefaultHealthTimeout  = 500 * time.Millisecond
	DefaultUnhealthyAfter = 2
	DefaultHealthyAfter   = 2
	DefaultEjectAfter     = 3
	DefaultEjectFor       = 5 * time.Second
	DefaultPerTry         = 750 * time.Millisecond
	DefaultConnect        = 250 * time.Millisecond // inside a cluster connecting takes a millisecond, or never succeeds
	DefaultMaxTries       = 8
)

// WithDefaults sets empty fields to their defaults.
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

// Validate returns an error if the options are invalid.
func (o Options) Validate() error {
	switch {
	case len(o.Upstreams) == 0 && (o.Namespace == "" || o.Service == ""):
		return fmt.Errorf("no upstreams configured: set upstreams, or namespace and service")
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

// flags are the command line of a gateway, which sets the options.
func (o *Options) flags() *flag.FlagSet {
	flags := flag.NewFlagSet("gateway", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the returned error contains the message
	flags.StringVar(&o.Listen, "listen", "", "host:port to listen on")
	flags.StringVar(&o.Namespace, "namespace", "", "namespace of the Service")
	flags.StringVar(&o.Service, "service", "", "Service whose ready endpoints are the upstreams")
	flags.Var((*list)(&o.Upstreams), "upstreams", "comma-separated list of host:port, instead of a Service")
	flags.BoolVar(&o.Health.Off, "no-health", false, "do not check upstreams")
	flags.DurationVar(&o.Health.Every, "health-every", 0, "interval of health checks")
	flags.DurationVar(&o.Health.Timeout, "health-timeout", 0, "time-out of a health check")
	flags.IntVar(&o.Health.UnhealthyAfter, "unhealthy-after", 0, "failed health checks in a row until an upstream gets no requests")
	flags.IntVar(&o.Health.HealthyAfter, "healthy-after", 0, "good health checks in a row until an upstream gets requests again")
	flags.BoolVar(&o.Ejection.Off, "no-ejection", false, "do not leave out upstreams whose requests fail")
	flags.IntVar(&o.Ejection.After, "eject-after", 0, "failed requests in a row until an upstream is left out")
	flags.DurationVar(&o.Ejection.For, "eject-for", 0, "how long an upstream is left out")
	flags.DurationVar(&o.PerTry, "per-try", 0, "time-out of one try")
	flags.DurationVar(&o.Connect, "connect", 0, "time-out for connecting in one try")
	flags.IntVar(&o.MaxTries, "max-tries", 0, "tries for a request, the first included")
	flags.BoolVar(&o.NoKeepAlive, "no-keep-alive", false, "open a new connection for each try")
	o.Serve.AddFlags(flags)
	return flags
}

// list is a comma-separated flag.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	*l = strings.Split(s, ",")
	return nil
}

// Args is the command line that Parse reads. Default values are left out.
func (o Options) Args() []string {
	var set Options
	flags := set.flags()
	set = o
	return serve.Args(flags)
}

// Parse reads a command line.
func Parse(args []string) (Options, error) {
	var o Options
	if err := serve.Parse(o.flags(), args); err != nil {
		return o, err
	}
	if err := o.Validate(); err != nil {
		return o, fmt.Errorf("gateway: %w", err)
	}
	return o.WithDefaults(), nil
}
