package balancer

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"sigs.k8s.io/yaml"
)

// plan is what kind configures Envoy to do: the listener of lds.yaml in front of the cluster of cds.yaml.
type plan struct {
	listen   string // host:port
	name     string // name of the cluster
	connect  time.Duration
	check    check
	backends []string // host:port
}

// check is the health check of a backend.
type check struct {
	path              string
	tls               bool
	timeout, interval time.Duration
	fall, rise        int
}

// The parts of Envoy's configuration that kind writes, under Envoy's names.
type (
	bootstrap struct {
		Dynamic struct {
			CDS source `json:"cds_config"`
			LDS source `json:"lds_config"`
		} `json:"dynamic_resources"`
	}
	source struct {
		Path struct {
			Path string `json:"path"`
		} `json:"path_config_source"`
	}
	listeners struct {
		Resources []struct {
			Address      address `json:"address"`
			FilterChains []struct {
				Filters []struct {
					Config struct {
						Cluster string `json:"cluster"`
					} `json:"typed_config"`
				} `json:"filters"`
			} `json:"filter_chains"`
		} `json:"resources"`
	}
	clusters struct {
		Resources []struct {
			Name           string        `json:"name"`
			ConnectTimeout duration      `json:"connect_timeout"`
			HealthChecks   []healthCheck `json:"health_checks"`
			Assignment     struct {
				Endpoints []struct {
					Endpoints []struct {
						Endpoint struct {
							Address address `json:"address"`
						} `json:"endpoint"`
					} `json:"lb_endpoints"`
				} `json:"endpoints"`
			} `json:"load_assignment"`
		} `json:"resources"`
	}
	healthCheck struct {
		Timeout   duration `json:"timeout"`
		Interval  duration `json:"interval"`
		Unhealthy int      `json:"unhealthy_threshold"`
		Healthy   int      `json:"healthy_threshold"`
		HTTP      struct {
			Path string `json:"path"`
		} `json:"http_health_check"`
		Criteria map[string]string `json:"transport_socket_match_criteria"`
	}
	address struct {
		Socket struct {
			Address string `json:"address"`
			Port    int    `json:"port_value"`
		} `json:"socket_address"`
	}
	duration string // "0.25s"
)

func (a address) String() string {
	return net.JoinHostPort(a.Socket.Address, strconv.Itoa(a.Socket.Port))
}

func read(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// errNothing means that there is no configuration yet: kind starts Envoy with empty files, and fills them when it knows the
// control planes.
var errNothing = errors.New("no listener and no cluster yet")

// readPlan reads the files that a bootstrap file refers to.
func readPlan(path string) (plan, error) {
	var b bootstrap
	if err := read(path, &b); err != nil {
		return plan{}, err
	}
	var l listeners
	var c clusters
	if err := errors.Join(read(b.Dynamic.LDS.Path.Path, &l), read(b.Dynamic.CDS.Path.Path, &c)); err != nil {
		return plan{}, err
	}
	if len(l.Resources) == 0 || len(c.Resources) == 0 {
		return plan{}, errNothing
	}
	return makePlan(l, c)
}

// makePlan rejects anything that kind does not write today, so that additions of a newer kind are noticed.
func makePlan(l listeners, c clusters) (plan, error) {
	if len(l.Resources) != 1 || len(c.Resources) != 1 {
		return plan{}, fmt.Errorf("%d listeners and %d clusters: want one of each", len(l.Resources), len(c.Resources))
	}
	listener, cluster := l.Resources[0], c.Resources[0]
	if len(listener.FilterChains) != 1 || len(listener.FilterChains[0].Filters) != 1 ||
		listener.FilterChains[0].Filters[0].Config.Cluster != cluster.Name {
		return plan{}, fmt.Errorf("the listener does not forward everything to cluster %q", cluster.Name)
	}
	if len(cluster.HealthChecks) != 1 {
		return plan{}, fmt.Errorf("cluster %s: %d health checks, want one", cluster.Name, len(cluster.HealthChecks))
	}
	p := plan{listen: listener.Address.String(), name: cluster.Name}
	var err error
	if p.connect, err = cluster.ConnectTimeout.parse(); err != nil {
		return plan{}, fmt.Errorf("cluster %s: connect_timeout: %w", cluster.Name, err)
	}
	if p.check, err = cluster.HealthChecks[0].parse(); err != nil {
		return plan{}, fmt.Errorf("cluster %s: %w", cluster.Name, err)
	}
	for _, group := range cluster.Assignment.Endpoints {
		for _, e := range group.Endpoints {
			p.backends = append(p.backends, e.Endpoint.Address.String())
		}
	}
	if len(p.backends) == 0 {
		return plan{}, fmt.Errorf("cluster %s: no endpoints", cluster.Name)
	}
	return p, nil
}

func (h healthCheck) parse() (check, error) {
	timeout, err := h.Timeout.parse()
	if err != nil {
		return check{}, fmt.Errorf("timeout of the health check: %w", err)
	}
	interval, err := h.Interval.parse()
	if err != nil {
		return check{}, fmt.Errorf("interval of the health check: %w", err)
	}
	if h.HTTP.Path == "" || h.Unhealthy < 1 || h.Healthy < 1 {
		return check{}, fmt.Errorf("health check: path %q, thresholds %d and %d", h.HTTP.Path, h.Unhealthy, h.Healthy)
	}
	return check{
		path: h.HTTP.Path, tls: len(h.Criteria) > 0, timeout: timeout, interval: interval, fall: h.Unhealthy, rise: h.Healthy,
	}, nil
}

func (d duration) parse() (time.Duration, error) {
	parsed, err := time.ParseDuration(string(d))
	if err == nil && parsed < time.Millisecond {
		err = fmt.Errorf("%q: want at least a millisecond", string(d))
	}
	return parsed, err
}
