package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// service works like kube-proxy: it sends new connections to one of its servers and leaves open ones alone.
type service struct {
	target  atomic.Pointer[endpoint]
	endings []<-chan error
}

// endpoint is a server that counts connections, so that a test knows when no client is connecting to it any more.
type endpoint struct {
	net.Listener
	dialling, connected, accepted atomic.Int64
	term                          func()
	ended                         <-chan error
}

func (e *endpoint) Accept() (net.Conn, error) {
	c, err := e.Listener.Accept()
	if err == nil {
		e.accepted.Add(1)
	}
	return c, err
}

func startEndpoint(t *testing.T, o Options) *endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e := &endpoint{Listener: l}
	e.term, e.ended = start(t, e, o, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	return e
}

func (s *service) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	e := s.target.Load()
	e.dialling.Add(1)
	defer e.dialling.Add(-1)
	var d net.Dialer
	c, err := d.DialContext(ctx, network, e.Addr().String())
	if err == nil {
		e.connected.Add(1)
	}
	return c, err
}

// replace moves the service to another endpoint. It ends the old endpoint when all dialled connections are accepted, which
// is what a preStop sleep waits for.
func (s *service) replace(t *testing.T, next *endpoint) {
	t.Helper()
	old := s.target.Swap(next)
	for old.dialling.Load() > 0 || old.connected.Load() != old.accepted.Load() {
		select {
		case <-t.Context().Done():
			t.Fatal("dials never settled")
		case <-time.After(time.Millisecond):
		}
	}
	old.term()
	s.endings = append(s.endings, old.ended)
}

// tally counts the results of clients' requests.
type tally struct {
	requests, reused, failed, masked atomic.Int64
	first                            sync.Once
	problem                          error
}

// fetch sends one request and counts how often it was written, because Go's transport hides that it retries.
func (c *tally) fetch(ctx context.Context, client *http.Client) {
	var writes atomic.Int64
	trace := &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			if i.Reused {
				c.reused.Add(1)
			}
		},
		WroteHeaders: func() { writes.Add(1) },
	}
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, trace), http.MethodGet, "http://service/", nil)
	if err == nil {
		err = c.whole(client.Do(r))
	}
	c.requests.Add(1)
	if n := writes.Load(); n > 1 {
		c.masked.Add(1)
		err = fmt.Errorf("masked: written %d times", n)
	}
	if err != nil {
		c.failed.Add(1)
		c.first.Do(func() { c.problem = err })
	}
}

func (c *tally) whole(response *http.Response, err error) error {
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if string(body) != "ok\n" {
		return errors.Join(err, fmt.Errorf("body %q", body))
	}
	return errors.Join(err, response.Body.Close())
}

// underFire replaces a server several times while clients send requests as fast as they can: one third on fresh
// connections, one third on reused ones, and one third on a single HTTP/2 connection.
func underFire(t *testing.T, o Options) *tally {
	t.Helper()
	// A quarter of Quiet. Real clients use half of it, but the machine that runs this test may be busy.
	const clients, replacements, idle = 12, 3, 250 * time.Millisecond
	s := &service{}
	s.target.Store(startEndpoint(t, o))
	counts, stop := &tally{}, make(chan struct{})
	// Clients share a pool, so that connections are sometimes idle in it and then reused.
	fresh := &http.Transport{DialContext: s.dial, DisableKeepAlives: true}
	reused := &http.Transport{DialContext: s.dial, IdleConnTimeout: idle, MaxIdleConnsPerHost: clients}
	defer reused.CloseIdleConnections()
	multiplexed := &http.Transport{DialContext: s.dial, Protocols: new(http.Protocols)}
	multiplexed.Protocols.SetUnencryptedHTTP2(true)
	defer multiplexed.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range clients {
		client := &http.Client{Transport: []http.RoundTripper{fresh, reused, multiplexed}[i%3], Timeout: 10 * time.Second}
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					counts.fetch(t.Context(), client)
				}
			}
		})
	}
	for range replacements {
		s.replace(t, startEndpoint(t, o))
		if err := <-s.endings[len(s.endings)-1]; err != nil {
			t.Errorf("end of a server: %v", err)
		}
	}
	close(stop)
	wg.Wait()
	last := s.target.Load()
	last.term()
	if err := <-last.ended; err != nil {
		t.Errorf("end of the last server: %v", err)
	}
	return counts
}

func TestDrainUnderFireLosesNothing(t *testing.T) {
	counts := underFire(t, Options{Quiet: time.Second})
	t.Logf("%d requests, %d on reused connections", counts.requests.Load(), counts.reused.Load())
	if counts.failed.Load() > 0 {
		t.Errorf("%d of %d requests lost, %d of them masked; the first: %v", counts.failed.Load(), counts.requests.Load(),
			counts.masked.Load(), counts.problem)
	}
	if counts.requests.Load() < 100 || counts.reused.Load() < 50 {
		t.Errorf("only %d requests, %d reused: too few to prove anything", counts.requests.Load(), counts.reused.Load())
	}
}

// TestDropUnderFireLosesRequests shows that underFire detects lost requests.
func TestDropUnderFireLosesRequests(t *testing.T) {
	counts := underFire(t, Options{AtTerm: Drop})
	t.Logf("%d of %d requests lost, %d of them masked", counts.failed.Load(), counts.requests.Load(), counts.masked.Load())
	if counts.failed.Load() == 0 {
		t.Error("servers that drop lost nothing")
	}
}
