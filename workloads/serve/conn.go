package serve

import (
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
)

// listener tracks its connections, because net/http alone does not shut down hijacked and HTTP/2 connections properly.
type listener struct {
	net.Listener
	mu      sync.Mutex
	open    map[*conn]bool
	leaving bool
}

func newListener(l net.Listener) *listener { return &listener{Listener: l, open: make(map[*conn]bool)} }

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known := &conn{Conn: c, all: l, leaving: l.leaving}
	l.open[known] = true
	return known, nil
}

// goAway asks the clients of all HTTP/2 connections to use other connections from now on.
func (l *listener) goAway() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leaving = true
	for c := range l.open {
		go c.goAway() // in a goroutine, because it waits for a concurrent write
	}
}

// cut closes every connection.
func (l *listener) cut() {
	l.mu.Lock()
	all := slices.Collect(maps.Keys(l.open))
	l.mu.Unlock()
	for _, c := range all {
		_ = c.Close() // the connection may be closed already
	}
}

// conn is a connection that a server has accepted.
type conn struct {
	net.Conn
	all      *listener
	served   atomic.Int64 // number of requests
	hijacked atomic.Bool  // net/http no longer controls the connection

	heard int // matching bytes of the preface so far; negative: not HTTP/2
	http2 atomic.Bool

	mu      sync.Mutex // guards writing on HTTP/2
	frames  frames
	leaving bool // goAway was called, but the frame has not been written yet
}

// preface is what a client sends first if it knows that the server speaks HTTP/2.
// Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Read implements net.Conn. It detects HTTP/2.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.heard >= 0 && c.heard < len(preface) {
		c.listen(b[:n])
	}
	return n, err
}

func (c *conn) listen(b []byte) {
	b = b[:min(len(b), len(preface)-c.heard)]
	if string(b) != preface[c.heard:c.heard+len(b)] {
		c.heard = -1
		return
	}
	if c.heard += len(b); c.heard == len(preface) {
		c.http2.Store(true)
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if !c.http2.Load() {
		return c.Conn.Write(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.Conn.Write(b)
	c.frames.follow(b[:n])
	if err == nil {
		err = c.ask()
	}
	return n, err
}

// goAway sends goAwayFrame to the client, now or as soon as a frame may be inserted.
func (c *conn) goAway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving = true
	if c.http2.Load() {
		_ = c.ask() // if the connection is broken, its reader notices
	}
}

// ask writes goAwayFrame if that is pending and a frame may be inserted.
func (c *conn) ask() error {
	if !c.leaving || !c.frames.between() {
		return nil
	}
	c.leaving = false
	_, err := c.Conn.Write(goAwayFrame)
	return err
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
