package appfile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// probe is a guess: the lines of the probe, and why. Without lines it is why a Service is not asked; without both there is nothing to say of it.
type probe struct {
	why   string
	lines []string
}

// guesser guesses the probes of an application. It has what is looked up often.
type guesser struct {
	app.App
	services map[string]app.Service
	clients  map[string][]client // by the name of a Service
	texts    map[string][]string // what a ConfigMap or a Secret has, by its kind and name
	routed   bool                // a controller of the manifests answers for hosts
}

func newGuesser(a app.App) *guesser {
	g := &guesser{App: a, services: map[string]app.Service{}, clients: map[string][]client{}, texts: map[string][]string{}}
	for _, s := range a.Services {
		g.services[s.Name] = s
	}
	for _, c := range clientsOf(a) {
		g.clients[c.service] = append(g.clients[c.service], c)
		g.routed = g.routed || c.url != ""
	}
	g.configure()
	return g
}

// probes is the part of the file with the probes, one for each Service that clients use. Missing says why there is none.
func probes(a app.App) (text, missing string) {
	missing = "Nothing can be asked: " + apptest.Unasked(a) + "."
	var b strings.Builder
	b.WriteString("probes:\n")
	g := newGuesser(a)
	for _, s := range a.Services {
		p := g.ofService(s)
		if p.why != "" {
			fmt.Fprintf(&b, "  # %s\n", comment(p.why))
		}
		if len(p.lines) == 0 {
			continue
		}
		missing = ""
		fmt.Fprintf(&b, "  - name: %s\n", inYAML(s.Name))
		for _, line := range p.lines {
			b.WriteString("    " + line + "\n")
		}
	}
	if missing != "" {
		fmt.Fprintf(&b, "  # %s\n  []\n", comment(missing))
	}
	return b.String(), missing
}

// ofService is the probe of a Service.
func (g *guesser) ofService(s app.Service) probe {
	behind := g.Behind(s.Name)
	if len(behind) == 0 || len(s.Ports) == 0 || s.Headless && g.askedElsewhere(s) {
		return probe{}
	}
	at := slices.IndexFunc(behind, func(w app.Workload) bool { return w.Replicas > 0 })
	if at < 0 {
		return probe{why: fmt.Sprintf("Service %s is not asked: %s %s has no replicas, so that no pod answers.", s.Name, behind[0].Kind, behind[0].Name)}
	}
	doors, why := g.doors(s, behind[at])
	if len(doors) == 0 {
		return probe{why: fmt.Sprintf("Service %s is not asked: %s.", s.Name, why)}
	}
	best := slices.MinFunc(doors, func(x, y door) int { return cmp.Compare(x.rank(), y.rank()) })
	switch {
	case !best.exporter() && !slices.ContainsFunc(doors, func(d door) bool { return d.client != nil || !d.metrics() }):
		return probe{why: fmt.Sprintf("Service %s is not asked: by its name, its port %d is for metrics or debugging, and not for clients.", s.Name, best.port.Port)}
	case s.LoadBalancer && best.client == nil && len(best.asked) == 0 && g.routed:
		return probe{why: fmt.Sprintf("Service %s is not asked: it leads to the controller of Ingresses and HTTPRoutes, which answers for their hosts alone.", s.Name)}
	}
	return best.guess()
}

// askedElsewhere reports whether the pods of a headless Service are asked at another Service, which has an address.
func (g *guesser) askedElsewhere(s app.Service) bool {
	return slices.ContainsFunc(g.Behind(s.Name), func(w app.Workload) bool {
		return slices.ContainsFunc(w.Services, func(name string) bool {
			return !g.services[name].Headless && len(g.ofService(g.services[name]).lines) > 0
		})
	})
}

// statusPort is where the agent beside a proxy of Istio answers, also while the proxy does not.
const statusPort = "status-port"

// metrics reports whether the port is not for the application's clients.
func (d door) metrics() bool {
	return audit.ForMetrics(d.service.Name, d.port.Name, d.name)
}

var exports = regexp.MustCompile(`exporter|metrics`)

// exporter reports whether metrics are what the workload is for.
func (d door) exporter() bool {
	return len(d.workload.Running()) == 1 && exports.MatchString(d.about+" "+d.workload.Name)
}

// rank orders the ports of a Service: first what clients use, then what is known to answer.
func (d door) rank() int {
	ready := len(d.asked) > 0 && d.asked[0].probe == readiness
	switch {
	case d.client != nil:
		return 0
	case ready && !d.metrics():
		return 1
	case len(d.asked) > 0 && !d.metrics():
		return 2
	case !d.metrics() && d.isKnown():
		return 3
	case ready && d.port.Name != statusPort && d.name != statusPort:
		return 4
	case !d.metrics():
		return 5
	}
	return 6
}

func isTCP(p corev1.Protocol) bool { return p == "" || p == corev1.ProtocolTCP }
