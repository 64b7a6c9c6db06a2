package load

import "github.com/holdfast-ha/holdfast/framework/history"

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
