package roundtrip

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
)

// mostLeft is how many connections a request tries whose server asks to leave them before the request is written.
const mostLeft = 3

// ErrLeft is returned for a request whose server asked to leave each connection before anything was sent on it.
var ErrLeft = errors.New("GOAWAY on each of 3 new connections, before anything was sent")

// errUnusable is the text of net/http's error for a connection of HTTP/2 whose server asked to leave it before the request was written.
const errUnusable = "http2: client conn not usable"

// single sends each request on a connection of HTTP/2 of its own, and sends none twice.
type single struct {
	to      *http.Transport
	dial    Dial
	address string // host:port
}

// Single speaks HTTP/2, with a connection for each request. A request that was sent is not sent again. net/http's Transport would do that
// when the server refuses a request, and again for as long as it does; and it would let requests share a connection that is new.
func Single(o Options, address string, secured bool) http.RoundTripper {
	s := &single{to: Multiplexed(o), dial: o.Dial, address: address}
	if secured {
		s.dial = o.DialTLS
	}
	s.to.DialContext, s.to.DialTLSContext = dialled, dialled
	s.to.HTTP2 = nil // no connection lives long enough to be pinged
	return s
}

// connKey is the key of the connection that NewClientConn is to use.
type connKey struct{}

// dialled is the connection that was made.
func dialled(ctx context.Context, _, _ string) (net.Conn, error) {
	return ctx.Value(connKey{}).(net.Conn), nil
}

// RoundTrip implements http.RoundTripper.
func (s *single) RoundTrip(r *http.Request) (*http.Response, error) {
	for range mostLeft {
		response, err := s.once(r)
		if err == nil || err.Error() != errUnusable {
			return response, err
		}
		again := *r
		if r = &again; r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
	return nil, ErrLeft
}

// once sends the request on a new connection.
func (s *single) once(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.GetConn != nil {
		trace.GetConn(s.address)
	}
	c, err := s.dial(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	made, err := s.to.NewClientConn(context.WithValue(ctx, connKey{}, c), r.URL.Scheme, s.address)
	if trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: c})
	}
	if err != nil {
		_ = c.Close() // how it broke is known
		return nil, err
	}
	response, err := made.RoundTrip(r)
	if err != nil {
		_ = made.Close() // it has failed
		return nil, err
	}
	response.Body = body{response.Body, made}
	return response, nil
}

// body is a response's body, whose connection ends with it.
type body struct {
	io.ReadCloser
	conn *http.ClientConn
}

// Close implements io.Closer.
func (b body) Close() error { return errors.Join(b.ReadCloser.Close(), b.conn.Close()) }
