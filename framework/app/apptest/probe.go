package apptest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// The defaults of a probe.
const (
	// DefaultRate is in requests a second on each lane. It shows an outage of about 20 ms.
	DefaultRate = 50
	// totalRate is what the lanes without a rate of their own share, with those that have one, in requests a second. Two cores carry it beside a
	// cluster, so that each of four probes has DefaultRate. leastRate still shows an outage of 100 ms.
	totalRate = 400
	leastRate = 10
	// controlRate is that of the control lane.
	controlRate = 20
)

// Probe is a request that is sent again and again, and the answer that is good.
type Probe struct {
	Name string
	// URL leads to a Service of the application, or to the host of one of its Ingresses or HTTPRoutes.
	URL string
	// Behind are the Services to which the pods behind the URL's Service send requests on: it is a proxy's, and no object says so.
	Behind []string
	// Outside sends the requests to where clients outside of the cluster find the Service.
	Outside bool `json:",omitempty"`
	Request request.Request
	Expect  expect.Answer // the zero value: status 200
	Rate    float64       // in requests a second on each lane; 0: DefaultRate, or less where many lanes share totalRate
	Lanes   []history.Lane
	// Idle is how long each kept connection is idle between two requests; 0: as short as the rate has it. Where that takes more than mostIdle
	// connections, the rate is lower.
	Idle time.Duration `json:",omitempty"` // so that what an application without it is certified for stays the same
	// Like says that no answer may have a status or a length as none before a voluntary disruption had.
	Like bool `json:",omitempty"`
}

// mostIdle is how many idle connections a lane has at most: servers with a process for each connection have hardly more for all clients.
const mostIdle = 128

// paced are the rate of one of the probe's lanes and how long its connections are idle. Usual is the rate of probes that say none.
func (p Probe) paced(lane history.Lane, usual float64) (rate float64, idle time.Duration) {
	rate = cmp.Or(p.Rate, usual)
	if kind, _ := load.KindOf(lane); p.Idle > 0 && kind.Idles() {
		return min(rate, mostIdle/p.Idle.Seconds()), p.Idle
	}
	return rate, 0
}

// slowest is the lowest rate of the probe's lanes.
func (p Probe) slowest(usual float64) float64 {
	lowest := cmp.Or(p.Rate, usual)
	for _, lane := range p.kinds() {
		rate, _ := p.paced(lane, usual)
		lowest = min(lowest, rate)
	}
	return lowest
}

// lanesOf are the lanes that a probe can have. It has the first two, or the only one, unless it says so.
func (p Probe) lanesOf() (names []history.Lane) {
	scheme, _, _ := strings.Cut(p.URL, ":")
	silent := !strings.HasPrefix(scheme, "http") && p.Request.Body == "" // nothing is said on a connection, so it is of no use to keep it
	for _, k := range load.LanesTo(scheme) {
		if (k.HTTP2() || !p.grpc()) && (k.Connections == load.PerRequest || !silent) {
			names = append(names, k.Name)
		}
	}
	return names
}

// grpc reports whether the probe is of a gRPC server, which speaks HTTP/2.
func (p Probe) grpc() bool { return p.Expect.Serving || p.Request.Call != nil }

// kinds are the lanes that the probe has.
func (p Probe) kinds() []history.Lane {
	if len(p.Lanes) > 0 {
		return p.Lanes
	}
	all := p.lanesOf()
	return all[:min(len(all), 2)]
}

// OfHealth is the probe of a gRPC server, at http://host:port or over TLS at https://host:port, by its health service; an empty service means
// the whole server. n numbers it from 0.
func OfHealth(server, service string, n int) Probe {
	p := OfURL(server+request.HealthPath, n)
	p.Request, p.Expect = request.Health(service), expect.Answer{Serving: true}
	return p
}

// OfCall is the probe of a gRPC server, as of OfHealth, by a method that takes one message and answers with one. The message is JSON, and
// headers are the call's metadata.
func OfCall(server string, call request.Call, message string, headers map[string]string, n int) Probe {
	p := OfURL(server+call.Path(), n)
	p.Request = call.Of(message, headers)
	return p
}

var probeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// OfURL is the probe of a URL without further settings. n numbers it from 0.
func OfURL(rawURL string, n int) Probe {
	name := "probe"
	if n > 0 {
		name = fmt.Sprintf("probe-%d", n+1)
	}
	if u, err := url.Parse(rawURL); err == nil {
		host, _, _ := strings.Cut(u.Hostname(), ".")
		if probeName.MatchString(host) {
			name = host
			if n > 0 {
				name = fmt.Sprintf("%s-%d", host, n+1)
			}
		}
	}
	return Probe{Name: name, URL: rawURL}
}

func (p Probe) validate(a app.App) error {
	if err := p.Check(a.Namespace); err != nil {
		return err
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("probe %s: %w", p.Name, err)
	}
	if err := p.leads(a, u); err != nil {
		return err
	}
	return p.secretsThere(a)
}

// Check returns an error for a probe that no worker can send, wherever its URL leads. The namespace is for an example.
func (p Probe) Check(namespace string) error {
	u, err := app.ParsePublicURL(p.URL)
	switch {
	case !probeName.MatchString(p.Name):
		return fmt.Errorf("probe %q: want a name of lower-case letters, digits and dashes", p.Name)
	case errors.Is(err, app.ErrUserInfo) || errors.Is(err, app.ErrSecretValue):
		return fmt.Errorf("probe %s: %w: leave it out, and send a header from a Secret: headers: {Authorization: {fromSecret: NAME/KEY}}", p.Name, err)
	case err != nil:
		return fmt.Errorf("probe %s: %w", p.Name, err)
	case !slices.Contains([]string{"http", "https", "ws", "wss", "tcp"}, u.Scheme) || u.Host == "":
		return fmt.Errorf("%q is no URL of a Service: %s", p.URL, instead(p.URL, namespace))
	case u.Scheme == "tcp" && u.Port() == "":
		return fmt.Errorf("%q has no port: want one such as %s:5432", p.URL, p.URL)
	}
	for i, l := range p.Lanes {
		if slices.Contains(p.Lanes[:i], l) {
			return fmt.Errorf("probe %s: lane %s is there twice", p.Name, l)
		}
		if !slices.Contains(p.lanesOf(), l) {
			return fmt.Errorf("probe %s: lane %q: want one of %q", p.Name, l, p.lanesOf())
		}
	}
	if err := p.expected().Validate(); err != nil {
		return fmt.Errorf("probe %s: %w", p.Name, err)
	}
	if err := p.Request.Validate(); err != nil {
		return fmt.Errorf("probe %s: %w", p.Name, err)
	}
	switch {
	case p.Rate < 0:
		return errors.New("probe " + p.Name + ": its rate is negative")
	case p.Idle < 0 || p.Idle > load.MaxIdle:
		return fmt.Errorf("probe %s: idle %s: want a duration above 0s and at most %s", p.Name, p.Idle, load.MaxIdle)
	case p.Idle > 0 && !slices.ContainsFunc(p.kinds(), func(l history.Lane) bool { k, _ := load.KindOf(l); return k.Idles() }):
		return fmt.Errorf("probe %s: idle: lanes %q have no connections that are idle: they are new for each request, or HTTP/2, where they are pinged", p.Name, p.kinds())
	}
	return nil
}

var (
	serverPort = regexp.MustCompile(`^(?:[a-z][a-z0-9+]*://)?([A-Za-z0-9.-]+:[0-9]+)(/.*)?$`)
	ofGRPC     = regexp.MustCompile(`^grpcs?://([^/]+)`)
)

// instead says what to write in place of what is no URL of a Service.
func instead(raw, namespace string) string {
	if server := ofGRPC.FindStringSubmatch(raw); server != nil {
		return fmt.Sprintf("use grpc: %s in holdfast.yaml, with tls for a server with a certificate", server[1])
	}
	if server := serverPort.FindStringSubmatch(raw); server != nil {
		return fmt.Sprintf("want http://%s%s or tcp://%s", server[1], cmp.Or(server[2], "/"), server[1])
	}
	return fmt.Sprintf("want one such as http://web.%s/", namespace)
}

// expected is the good answer.
func (p Probe) expected() expect.Answer {
	a := p.Expect
	if len(a.Status) == 0 {
		a.Status = []int{http.StatusOK}
	}
	return a
}

// timeouts are the usual ones, except where an answer may take longer: a late answer is another failure than none.
func (p Probe) timeouts() (t load.Timeouts) {
	if usual := load.DefaultTimeouts; p.Expect.Within >= usual.Response {
		t.Response = p.Expect.Within + lateFor
		t.Request = max(usual.Request, t.Response)
	}
	return t
}

// lateFor is how much later than expected an answer may come and still be read.
const lateFor = 2 * time.Second

// Lanes are the lanes of all probes, and the control lane. A probe that says no rate has the usual one. A probe's name is in its lanes' names
// only where there are several probes.
func Lanes(probes []Probe, usual float64) (all []load.Lane) {
	for _, p := range probes {
		for i, name := range p.LaneNames(len(probes)) {
			rate, idle := p.paced(p.kinds()[i], usual)
			all = append(all, load.Lane{Lane: name, Target: p.URL, Outside: p.Outside, Rate: rate, Idle: idle, Expect: p.expected(), Request: p.Request, Timeouts: p.timeouts()})
		}
	}
	return append(all, load.Lane{Lane: history.LaneControl, Rate: controlRate})
}

// rate is that of the lanes of probes that say none.
func (t Test) rate() float64 {
	left, lanes := float64(totalRate), 0
	for _, p := range t.Probes {
		if p.Rate == 0 {
			lanes += len(p.kinds())
		}
		left -= p.Rate * float64(len(p.kinds()))
	}
	if lanes == 0 {
		return DefaultRate
	}
	return min(DefaultRate, max(leastRate, left/float64(lanes)))
}

// LaneNames are the names of the probe's lanes, where there are so many probes.
func (p Probe) LaneNames(probes int) (names []history.Lane) {
	for _, kind := range p.kinds() {
		if probes > 1 {
			kind = history.LaneOf(kind, p.Name)
		}
		names = append(names, kind)
	}
	return names
}
