package load

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// The defaults of a plan, and its limits.
const (
	// DefaultDuration and MaxDuration bound a plan's load, which stops by itself even if nothing stops it.
	DefaultDuration = 15 * time.Minute
	MaxDuration     = 24 * time.Hour
	// MaxRate is the largest rate of a worker's lane, in requests a second. One worker was seen to keep up with about a quarter of it.
	MaxRate = 50_000
	// DefaultConnections is how many connections a lane with pooled connections takes in turn. A Service spreads connections over its pods at
	// random: with six pods, 32 connections leave one of the pods out in 2 of 100 runs.
	DefaultConnections = 32
	// DefaultHeld is how many connections a lane takes in turn if they are multiplexed or held. Such clients have one connection each, and each leads to one pod: 16 of them leave out a given pod of six in
	// 5 of 100 runs, and one of three in 2 of 1000. A fault picks its victims among the pods that answer on every lane.
	DefaultHeld = 16
	// MinInFlight and MaxInFlight bound the default number of requests of a lane that wait for an answer. The default is the
	// number of requests that are due within a request's time-out. MaxInFlight, which also bounds what a plan may ask for, is
	// below the 20,000 open files that a container gets.
	MinInFlight = 64
	MaxInFlight = 8192
	// MaxIdle bounds how long a lane may leave its connections idle. Its clients themselves close those that are idle for 90 s.
	MaxIdle = time.Minute
)

// DefaultTimeouts are common time-outs of clients inside a cluster: an answer that comes later is of no use to them.
var DefaultTimeouts = Timeouts{Connect: time.Second, Response: 3 * time.Second, Request: 5 * time.Second}

// Plan is the load that one or several workers send.
type Plan struct {
	// ID names the plan. A worker that gets the same plan again does nothing.
	ID string `json:"id"`
	// Share is the part of the plan that a worker sends. Everything else is the same for all workers.
	Share history.Share `json:"share,omitzero"`
	// Lanes are sent side by side. No two may have the same name.
	Lanes []Lane `json:"lanes"`
	// Duration is when the load stops by itself; zero: DefaultDuration.
	Duration time.Duration `json:"duration"`
	// Yields lets a worker stop for good at the first answer that says that there are too many requests (status 429), for servers that
	// others need. The hits after it are missing in the record.
	Yields bool `json:"yields,omitempty"`
	// Untended ends a worker's load when no request about the plan has reached the worker for so long: the harness is gone, and the load must not
	// go on without it. Zero: never. The hits after it are missing in the record.
	Untended time.Duration `json:"untended,omitempty"`
}

// Lane is one stream of identical requests. Zero fields except Lane and Rate mean their defaults. Several workers share the Rate;
// connections and requests in flight are those of each worker.
type Lane struct {
	Lane history.Lane `json:"lane"`
	// Target is a URL whose scheme is that of the lane's protocol. On the control lane it may be empty: the worker's own server.
	Target string `json:"target"`
	// Outside says that the target is asked as clients outside of the cluster do. The environment finds where that is; a worker need not know.
	Outside bool `json:"-"`
	// Addresses are where connections to the target's host go, in turn; none: to what the DNS says, or to the host if it is an address.
	Addresses []netip.Addr `json:"addresses,omitempty"`
	// Rate is in requests a second: hit k is due at the start + k/Rate.
	Rate float64 `json:"rate"`
	// Expect is a good answer; the zero value is the sample backend's. Only lanes that net/http's server answers can have another.
	Expect expect.Answer `json:"expect,omitzero"`
	// Request is what the requests say; the zero value is a GET.
	Request request.Request `json:"request,omitzero"`
	// Connections is how many connections a lane takes in turn; default DefaultConnections, or DefaultHeld if they are
	// multiplexed or held. If they are pooled, a slow answer opens more, see MaxConnections. A lane with a connection per
	// request ignores it.
	Connections int `json:"connections,omitempty"`
	// Idle is how long each connection is idle between two requests, give or take a tenth, so that a server's time-out of that length is met from both
	// sides: Connections are as many as that takes, however many workers share the Rate. 0: as the number of Connections has it.
	Idle time.Duration `json:"idle,omitempty"`
	// MaxConnections bounds the connections of a lane that pools them, those being opened included; it must be at least
	// Connections. A request waits for a connection if all are busy. It counts as sent when its wait begins, its latency and
	// time-outs include the wait, and InFlight bounds how many wait. If it waits in vain its outcome is TimeoutConnect. 0: no
	// limit, as in net/http; then a busy machine opens ten times as many connections as planned, and a count of where
	// connections lead measures the machine.
	MaxConnections int `json:"maxConnections,omitempty"`
	// InFlight is how many requests may wait for an answer. Requests that are due beyond it are Unsent.
	InFlight int      `json:"inFlight,omitempty"`
	Timeouts Timeouts `json:"timeouts"`
}

// Timeouts of a request. None can be switched off: zero means DefaultTimeouts.
type Timeouts struct {
	// Connect bounds making a connection, name lookup included.
	Connect time.Duration `json:"connect"`
	// Response bounds the time from sending to the response's head.
	Response time.Duration `json:"response"`
	// Request bounds the time from sending to the last byte of the body.
	Request time.Duration `json:"request"`
}

// Validate returns an error for a plan that cannot be run. Zero fields count as their defaults.
func (p Plan) Validate() error {
	switch {
	case p.ID == "":
		return errors.New("plan: no id")
	case len(p.Lanes) == 0:
		return fmt.Errorf("plan %s: no lanes", p.ID)
	case p.Duration < 0 || p.Duration > MaxDuration:
		return fmt.Errorf("plan %s: duration %s is not between 0 and %s", p.ID, p.Duration, MaxDuration)
	}
	if err := p.Share.Validate(); err != nil {
		return fmt.Errorf("plan %s: %w", p.ID, err)
	}
	seen := make(map[history.Lane]bool)
	for _, l := range p.Lanes {
		if seen[l.Lane] {
			return fmt.Errorf("plan %s: two lanes are named %q", p.ID, l.Lane)
		}
		seen[l.Lane] = true
		if err := l.validate(p.Share); err != nil {
			return fmt.Errorf("plan %s: lane %q: %w", p.ID, l.Lane, err)
		}
	}
	return nil
}

func (l Lane) validate(share history.Share) error {
	kind, known := KindOf(l.Lane)
	if !known {
		return fmt.Errorf("unknown: want one of %q", LaneNames())
	}
	if err := l.Expect.Validate(); err != nil {
		return err
	}
	switch t := l.Timeouts; {
	case math.IsNaN(l.Rate) || l.Rate <= 0 || share.Of(l.Rate) > MaxRate:
		return fmt.Errorf("rate %v is not between 0 and %d a second for each worker", l.Rate, MaxRate)
	case l.Connections < 0 || l.Connections > MaxInFlight:
		return fmt.Errorf("connections %d is not between 0 and %d", l.Connections, MaxInFlight)
	case l.MaxConnections < 0 || l.MaxConnections > MaxInFlight:
		return fmt.Errorf("max connections %d is not between 0 and %d", l.MaxConnections, MaxInFlight)
	case l.MaxConnections > 0 && kind.Connections != Pooled:
		return fmt.Errorf("max connections: want one of lanes %q", LaneNames(Pooled))
	case l.MaxConnections > 0 && l.MaxConnections < cmp.Or(l.Connections, DefaultConnections):
		return fmt.Errorf("max connections %d is less than %d connections", l.MaxConnections, cmp.Or(l.Connections, DefaultConnections))
	case l.Idle < 0 || l.Idle > MaxIdle:
		return fmt.Errorf("idle %s is not between 0 and %s", l.Idle, MaxIdle)
	case l.Idle > 0 && !kind.Idles():
		return errors.New("idle: it keeps no connections, or pings them")
	case l.Idle > 0 && (l.Connections > 0 || l.idling(share) > MaxInFlight):
		return fmt.Errorf("idle %s takes %d connections of a worker: the most are %d, and their number is not chosen otherwise", l.Idle, l.idling(share), MaxInFlight)
	case l.InFlight < 0 || l.InFlight > MaxInFlight:
		return fmt.Errorf("in flight %d is not between 0 and %d", l.InFlight, MaxInFlight)
	case t.Connect < 0 || t.Response < 0 || t.Request < 0:
		return fmt.Errorf("a time-out of %+v is negative", t)
	case (!l.Expect.Echo() || !l.Request.Zero()) && (kind.Server != nil || l.Lane == history.LaneControl):
		return errors.New("expect and request: only the sample backend answers this lane")
	case l.Target == "" && l.Lane == history.LaneControl:
		return nil
	}
	u, err := url.Parse(l.Target)
	if err != nil || u.Host == "" || !slices.Contains(kind.schemes(), u.Scheme) {
		return fmt.Errorf("target %q is no %s URL", l.Target, kind.schemes()[0])
	}
	return l.Request.Validate()
}

// address is the host and the port of a valid lane's target, and the path without a slash at its end.
func (l Lane) address() (hostPort, path string) {
	u, _ := url.Parse(l.Target) // the plan was validated
	port := "80"
	if l.secured() {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), strings.TrimSuffix(u.Path, "/")
}

// secured reports whether the lane's connections are secured by TLS.
func (l Lane) secured() bool {
	return strings.HasPrefix(l.Target, "https:") || strings.HasPrefix(l.Target, "wss:")
}

// To returns the plan with its lanes leading to a target where they have none, and expecting that target's answers. The control
// lane stays in the worker's pod.
func (p Plan) To(target string, answer expect.Answer) Plan {
	p.Lanes = slices.Clone(p.Lanes)
	for i := range p.Lanes {
		if l := &p.Lanes[i]; l.Target == "" && l.Lane != history.LaneControl {
			l.Target, l.Expect = target, answer
		}
	}
	return p
}

// Targets are the targets of the plan's lanes, each once, in the order of the lanes.
func (p Plan) Targets() (all []string) {
	for _, l := range p.Lanes {
		if l.Target != "" && !slices.Contains(all, l.Target) {
			all = append(all, l.Target)
		}
	}
	return all
}

// Starts are the schedules of the lanes of a plan that begins at a moment.
func (p Plan) Starts(at history.Offset) []history.LaneStart {
	all := make([]history.LaneStart, len(p.Lanes))
	for i, l := range p.Lanes {
		all[i] = history.LaneStart{Lane: l.Lane, Start: at + stagger(i, len(p.Lanes), l.Rate), RatePerSecond: l.Rate}
	}
	return all
}

// withDefaults fills in zero fields. Control is the URL of the worker's own server.
func (p Plan) withDefaults(control string) Plan {
	p.Duration = cmp.Or(p.Duration, DefaultDuration)
	lanes := make([]Lane, len(p.Lanes))
	for i, l := range p.Lanes {
		lanes[i] = l.withDefaults(control, p.Share)
	}
	p.Lanes = lanes
	return p
}

// idling is how many connections of a worker are idle for as long as the lane has them.
func (l Lane) idling(share history.Share) int {
	return max(1, int(math.Ceil(share.Of(l.Rate)*l.Idle.Seconds())))
}

// IdleFor is how long a connection that the lane keeps is idle between two requests, if one worker sends them all; 0: it keeps none.
func (l Lane) IdleFor() time.Duration {
	if kind, _ := KindOf(l.Lane); kind.Connections == PerRequest {
		return 0
	}
	return time.Duration(float64(l.withDefaults("", history.Share{}).Connections) / l.Rate * float64(time.Second))
}

func (l Lane) withDefaults(control string, share history.Share) Lane {
	l.Target = cmp.Or(l.Target, control)
	if l.Idle > 0 {
		setDefault(&l.Connections, l.idling(share))
	}
	if kind, _ := KindOf(l.Lane); kind.Connections == Multiplexed || kind.Connections == Held {
		setDefault(&l.Connections, DefaultHeld)
	}
	setDefault(&l.Connections, DefaultConnections)
	setDefault(&l.Timeouts.Connect, DefaultTimeouts.Connect)
	setDefault(&l.Timeouts.Response, DefaultTimeouts.Response)
	setDefault(&l.Timeouts.Request, DefaultTimeouts.Request)
	needed := int(math.Ceil(share.Of(l.Rate) * l.Timeouts.Request.Seconds()))
	setDefault(&l.InFlight, min(max(needed, MinInFlight), MaxInFlight))
	return l
}

func setDefault[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}
