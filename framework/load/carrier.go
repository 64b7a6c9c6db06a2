package load

import (
	"sync/atomic"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// carrier implements a lane's protocol. The lane decides when a request is due and that it gets a row; the carrier sends it and
// fills in the row.
type carrier interface {
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

// newCarrier returns the carrier of a lane; ids numbers the connections of the whole worker.
func newCarrier(l Lane, ids *atomic.Uint64) carrier {
	switch d := newDialer(l, ids); l.Lane {
	case history.LaneGRPC:
		return newChannels(l, d)
	case history.LaneStream:
		return newDuplex(l, d, openLines)
	case history.LaneSocket:
		return newDuplex(l, d, openWebSocket)
	}
	return newConnections(l, ids)
}
