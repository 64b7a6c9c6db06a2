package serve

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// pipes is an in-memory listener, because synctest's fake clock does not work with real sockets.
type pipes struct {
	dialled chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

func newPipes() *pipes { return &pipes{dialled: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialled:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "pipe"} }

// dial connects, or fails like a connection to a port where nothing listens.
func (p *pipes) dial() (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.dialled <- server:
		return client, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// wire is one client connection that sends when the test says so.
type wire struct {
	t *testing.T
	net.Conn
	read *bufio.Reader
}

func dial(t *testing.T, p *pipes) *wire {
	t.Helper()
	c, err := p.dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return &wire{t: t, Conn: c, read: bufio.NewReader(c)}
}

// get sends a request and returns the response, or nil if the connection was cut.
func (w *wire) get(path string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://server"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := r.Write(w.Conn); err != nil {
		return nil
	}
	response, err := http.ReadResponse(w.read, r)
	if err != nil {
		return nil
	}
	_ = response.Body.Close()
	return response
}

// mustGet fails the test unless the status is 200 and the response closes the connection or keeps it open, as expected.
func (w *wire) mustGet(path string, closes bool) {
	w.t.Helper()
	response := w.get(path)
	if response == nil {
		w.t.Fatalf("GET %s: cut off", path)
	}
	if response.StatusCode != http.StatusOK || response.Close != closes {
		w.t.Fatalf("GET %s: status %d, closes %v; want 200, closes %v", path, response.StatusCode, response.Close, closes)
	}
}

// start runs a server. term sends it SIGTERM; ended receives its result.
func start(t *testing.T, l net.Listener, o Options, h http.HandlerFunc) (term func(), ended <-chan error) {
	t.Helper()
	ctx, term := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- Run(ctx, l, o, h) }()
	return term, result
}

// empty sends an empty response.
func empty(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }
