package serve

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// traffic tracks requests and new connections.
type traffic struct {
	mu       sync.Mutex
	inFlight int
	events   uint64 // starts and ends of requests, and accepted connections
	// unused contains connections on which no byte has arrived. A client does not retry a first request when its connection
	// closes.
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
	if c, ok := c.(*conn); ok && state == http.StateHijacked {
		c.hijacked.Store(true)
	}
}

// state is the number of events so far, so that two calls can be compared, and the number of requests in flight.
func (t *traffic) state() (events uint64, inFlight int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.events, t.inFlight
}

// wait returns when no request is in flight, requests on hijacked connections included.
func (t *traffic) wait(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, inFlight := t.state(); inFlight == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// closeUnused closes the unused connections. http.Server.Shutdown would wait 5 s for each.
func (t *traffic) closeUnused() {
	t.mu.Lock()
	all := slices.Collect(maps.Keys(t.unused))
	t.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // the connection may be closed already
	}
}
