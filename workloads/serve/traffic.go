package serve

import (
	"net"
	"net/http"
	"sync"
)

// traffic knows whether somebody wants something.
type traffic struct {
	mu       sync.Mutex
	inFlight int
	events   uint64 // beginnings and ends of requests, and connections accepted
	// unused connections have not sent a byte. A client does not send a first request again when its connection closes.
	unused map[net.Conn]bool
}

func (t *traffic) begin() { t.note(1) }
func (t *traffic) end()   { t.note(-1) }

func (t *traffic) note(inFlight int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.inFlight += inFlight
	t.events++
}

// changed is the server's ConnState hook.
func (t *traffic) changed(c net.Conn, state http.ConnState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if state == http.StateNew {
		t.unused[c] = true
		t.events++
		return
	}
	delete(t.unused, c)
}

// state tells how much has happened, so that two looks can be compared, and how many requests are in flight.
func (t *traffic) state() (events uint64, inFlight int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events, t.inFlight
}

// closeUnused closes the connections that are unused. Shutdown would wait 5 s for each.
func (t *traffic) closeUnused() {
	t.mu.Lock()
	var all []net.Conn
	for c := range t.unused {
		all = append(all, c)
	}
	t.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // whoever closed it first, it is closed
	}
}
