package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// headBytes of a response are read before the client gets its first byte. If reading them fails, another upstream can still
// be tried. Complete responses of backends fit into them.
const headBytes = 32 << 10

var errTryTimeout = errors.New("the upstream took too long")

// idleTimeout of connections to upstreams. It is below serve.DefaultQuiet, so that a draining backend never closes a
// connection that is about to be used.
const idleTimeout = time.Second

func newTransport(connect time.Duration, keep bool) *http.Transport {
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		DisableKeepAlives:   !keep,
		MaxIdleConnsPerHost: 256, // idleTimeout limits how many connections are kept
		IdleConnTimeout:     idleTimeout,
		DisableCompression:  true, // the client's Accept-Encoding is passed through unchanged
	}
}

// once sends a request to one upstream, through one of the transports. When it returns without an error, the first
// headBytes of the response have been read.
func (g *gateway) once(r *http.Request, u *upstream, through *http.Transport) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(g.options.PerTry, func() { cancel(errTryTimeout) })
	response, err := readHead(through.RoundTrip(outgoing(r.WithContext(ctx), u)))
	timer.Stop()
	if err != nil {
		cancel(nil)
		if cause := context.Cause(ctx); errors.Is(cause, errTryTimeout) {
			err = errTryTimeout
		}
		return nil, fmt.Errorf("upstream %s: %w", u.address, err)
	}
	response.Body = &released{Reader: response.Body, close: response.Body.Close, release: func() { cancel(nil) }}
	return response, nil
}

// readHead reads the first headBytes of a response and puts them in front of the rest again.
func readHead(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	head, err := io.ReadAll(io.LimitReader(response.Body, headBytes))
	if err != nil {
		_ = response.Body.Close()
		return nil, fmt.Errorf("read response: %w", err)
	}
	body := response.Body
	response.Body = &released{
		Reader: io.MultiReader(bytes.NewReader(head), body), close: body.Close, release: func() {},
	}
	return response, nil
}

// outgoing is the request for one upstream.
func outgoing(r *http.Request, u *upstream) *http.Request {
	out := r.Clone(r.Context())
	out.URL.Scheme, out.URL.Host = "http", u.address
	if out.Body == nil || out.Body == http.NoBody {
		out.Body = onlyOnce{}
	}
	return out
}

// onlyOnce is an empty body that net/http cannot send again. Without it the transport silently repeats a GET when a kept
// connection breaks, and that try would not be counted.
type onlyOnce struct{}

func (onlyOnce) Read([]byte) (int, error) { return 0, io.EOF }
func (onlyOnce) Close() error             { return nil }

// released is a body that frees its request's resources when it is closed.
type released struct {
	io.Reader
	close   func() error
	release func()
}

func (b *released) Close() error {
	defer b.release()
	return b.close()
}
