package load

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// LaneKind is a lane that a plan can have. A new lane is a file here for its client, a file in package backend for its server
// unless net/http speaks its protocol, and a row of Lanes.
type LaneKind struct {
	Name history.Lane
	// Protocol is its name for readers.
	Protocol string
	// Connections is how the lane uses its connections.
	Connections Connections
	// EndsAtGateway: a gateway that passes on HTTP requests does not pass on this protocol.
	EndsAtGateway bool
	// Rate is the lane's rate in EveryLane, and DefaultRate in DefaultLanes, in requests a second; 0: it is not among those lanes.
	Rate, DefaultRate float64
	// Server is what answers the lane in the sample backend; nil: net/http's server.
	Server backend.Protocol

	connect func(Lane, *dialer) transport
}

// Connections is a way of using connections.
type Connections string

// The ways of using connections.
const (
	PerRequest  Connections = "a new connection for every request"
	Pooled      Connections = "kept-alive connections in turn; more are opened when all are busy"
	Multiplexed Connections = "a few connections, each with many requests at a time"
	Held        Connections = "connections that are kept as long as possible, with messages both ways"
)

// Lanes are the lanes that a plan can have. The control lane leads to a server in the worker's own pod, which separates noise of
// the harness from the system under test.
//
// The rates of EveryLane add up to as many requests as two cores have time for beside a cluster. Those of DefaultLanes show an
// outage of 10 ms, and leave two cores time for the cluster.
var Lanes = []LaneKind{
	{Name: history.LaneFresh, Protocol: "HTTP/1.1", Connections: PerRequest, Rate: 40, DefaultRate: 100, connect: newFresh},
	{Name: history.LaneReused, Protocol: "HTTP/1.1", Connections: Pooled, Rate: 40, DefaultRate: 100, connect: newPooled},
	{Name: LaneH2C, Protocol: protocolH2C, Connections: Multiplexed, Rate: 40, connect: newMultiplexed},
	{Name: LaneGRPC, Protocol: "gRPC", Connections: Multiplexed, EndsAtGateway: true, Rate: 30, Server: backend.GRPC, connect: newChannels},
	{Name: LaneSocket, Protocol: protocolSocket, Connections: Held, EndsAtGateway: true, Rate: 40, Server: backend.WebSocket, connect: newWebSockets},
	{Name: history.LaneControl, Protocol: "HTTP/1.1", Connections: Pooled, Rate: 20, DefaultRate: 20, connect: newPooled},
}

// ForeignLanes are lanes to servers of users' applications that the sample backend does not answer.
var ForeignLanes = []LaneKind{
	{Name: LaneH2CFresh, Protocol: protocolH2C, Connections: PerRequest, connect: newSingle},
	{Name: LaneH2, Protocol: protocolH2, Connections: Multiplexed, connect: newMultiplexed},
	{Name: LaneH2Fresh, Protocol: protocolH2, Connections: PerRequest, connect: newSingle},
	{Name: LaneTCP, Protocol: protocolTCP, Connections: PerRequest, EndsAtGateway: true, connect: newAsksFresh},
	{Name: LaneTCPKept, Protocol: protocolTCP, Connections: Held, EndsAtGateway: true, connect: newAsks},
	{Name: LaneWS, Protocol: protocolSocket, Connections: PerRequest, EndsAtGateway: true, connect: newAsksFresh},
	{Name: LaneWSKept, Protocol: protocolSocket, Connections: Held, EndsAtGateway: true, connect: newAsks},
}

const (
	protocolH2C    = "HTTP/2 without TLS"
	protocolH2     = "HTTP/2 over TLS"
	protocolTCP    = "TCP"
	protocolSocket = "WebSocket"
)

// Idles reports whether the lane keeps connections on which nothing is said between two requests. HTTP/2's are pinged.
func (k LaneKind) Idles() bool { return k.Server == nil && k.Connections != PerRequest && !k.HTTP2() }

// schemes are those of the lane's targets.
func (k LaneKind) schemes() []string {
	switch {
	case k.Server != nil, k.Protocol == protocolH2C:
		return []string{"http"}
	case k.Protocol == protocolH2:
		return []string{"https"}
	case k.Protocol == protocolTCP:
		return []string{"tcp"}
	case k.Protocol == protocolSocket:
		return []string{"ws", "wss"}
	}
	return []string{"http", "https"}
}

// HTTP2 reports whether the lane speaks HTTP/2, which gRPC needs. A lane of holdfast's own gRPC has its own messages.
func (k LaneKind) HTTP2() bool { return k.Protocol == protocolH2C || k.Protocol == protocolH2 }

// LanesTo are the lanes on which the servers of applications can be asked by URLs of a scheme. The first two are those of a usual
// client: a new connection for each request, and kept ones.
func LanesTo(scheme string) []LaneKind {
	return slices.DeleteFunc(slices.Concat(Lanes, ForeignLanes), func(k LaneKind) bool {
		return k.Server != nil || k.Name == history.LaneControl || !slices.Contains(k.schemes(), scheme)
	})
}

// KindOf returns a lane's row of Lanes or ForeignLanes. The name of a lane may end with that of a probe: see history.Lane.
func KindOf(name history.Lane) (LaneKind, bool) {
	name, _ = name.Split()
	for _, list := range [][]LaneKind{Lanes, ForeignLanes} {
		if i := slices.IndexFunc(list, func(k LaneKind) bool { return k.Name == name }); i >= 0 {
			return list[i], true
		}
	}
	return LaneKind{}, false
}

// LaneNames are the names of the lanes that use connections in one of these ways; without an argument, of all lanes.
func LaneNames(uses ...Connections) (names []history.Lane) {
	for _, k := range Lanes {
		if len(uses) == 0 || slices.Contains(uses, k.Connections) {
			names = append(names, k.Name)
		}
	}
	return names
}

// EveryLane is a lane of every kind, for disruptions that no client may notice, those with long-lived connections included.
func EveryLane() []Lane { return lanesAt(func(k LaneKind) float64 { return k.Rate }) }

// DefaultLanes are the lanes that most scenarios have.
func DefaultLanes() []Lane { return lanesAt(func(k LaneKind) float64 { return k.DefaultRate }) }

func lanesAt(rate func(LaneKind) float64) (lanes []Lane) {
	for _, k := range Lanes {
		if r := rate(k); r > 0 {
			lanes = append(lanes, Lane{Lane: k.Name, Rate: r})
		}
	}
	return lanes
}

// Servers are the protocols that the sample backend must speak besides net/http's.
func Servers() (all []backend.Protocol) {
	for _, k := range Lanes {
		if k.Server != nil {
			all = append(all, k.Server)
		}
	}
	return all
}

// transport implements a lane's protocol. The lane decides when a request is due and that it gets a row; the transport sends it
// and fills in the row.
type transport interface {
	// sender is called once by each goroutine that sends.
	sender(l *lane) sender
	// close ends the connections, once the last request has its row.
	close()
}

// sender sends requests of one lane, one after the other, and gives each its row.
type sender interface {
	// send returns when the request has its row.
	send(k uint64, due history.Offset)
}
