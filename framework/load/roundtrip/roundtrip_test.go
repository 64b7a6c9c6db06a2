package roundtrip_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/holdfast-ha/holdfast/framework/load/roundtrip"
)

func TestClientsHideNothing(t *testing.T) {
	for name, c := range map[string]*http.Transport{
		"pooled": roundtrip.Pooled(roundtrip.Options{}), "fresh": roundtrip.Fresh(roundtrip.Options{}), "multiplexed": roundtrip.Multiplexed(roundtrip.Options{}),
	} {
		if c.Proxy != nil || !c.DisableCompression || c.ForceAttemptHTTP2 || c.DisableKeepAlives != (name == "fresh") {
			t.Errorf("%s uses a proxy, compression, another HTTP, or keeps connections wrongly: %+v", name, c)
		}
		if c.Protocols != nil && (c.Protocols.HTTP1() || name != "multiplexed") {
			t.Errorf("%s speaks %s", name, c.Protocols)
		}
	}
}

// server is the server's end of the n-th connection, from 0.
type server struct {
	*http2.Framer
	n        int
	requests chan uint32 // streams; closed when the client has gone
}

// read reads all that the client writes, since a pipe holds nothing.
func (s *server) read(from io.Reader) {
	defer close(s.requests)
	_, _ = io.CopyN(io.Discard, from, int64(len(http2.ClientPreface)))
	for {
		f, err := s.ReadFrame()
		if err != nil {
			return
		}
		if head, is := f.(*http2.HeadersFrame); is {
			s.requests <- head.StreamID
		}
	}
}

// answer answers a request with a status alone.
func (s *server) answer(stream uint32, status string) {
	var fields strings.Builder
	_ = hpack.NewEncoder(&fields).WriteField(hpack.HeaderField{Name: ":status", Value: status})
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte(fields.String()), EndHeaders: true, EndStream: true})
}

// exchange sends one request with a body to servers in memory, and returns its status, its error, the connections that it tried, and how many of
// them are still open in the end. Everything that the server has to say at first arrives before the request is written.
func exchange(t *testing.T, serve func(*server)) (status int, err error, tried, open int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dialled, left := 0, atomic.Int64{}
		dial := func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			n := dialled
			dialled++
			s := &server{http2.NewFramer(there, there), n, make(chan uint32, 1)}
			go s.read(there)
			go func() {
				_ = s.WriteSettings()
				serve(s)
				for range s.requests {
					t.Error("a second request is on the connection")
				}
				left.Add(1)
				_ = there.Close()
			}()
			return here, nil
		}
		trace := &httptrace.ClientTrace{
			GetConn: func(string) { tried++ },
			GotConn: func(httptrace.GotConnInfo) { synctest.Wait() },
		}
		r, failed := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, "http://shop/", strings.NewReader("once"))
		if failed != nil {
			t.Fatal(failed)
		}
		var response *http.Response
		response, err = roundtrip.Single(roundtrip.Options{Dial: dial}, "shop:80", false).RoundTrip(r)
		if err == nil {
			status = response.StatusCode
			if failed := response.Body.Close(); failed != nil {
				t.Error(failed)
			}
		}
		synctest.Wait()
		open = dialled - int(left.Load())
		if dialled != tried {
			t.Errorf("%d connections were made, and %d reported", dialled, tried)
		}
	})
	return status, err, tried, open
}

// A request is on a connection of its own, which ends with it, and is sent once, whatever becomes of it.
func TestSingle(t *testing.T) {
	refuses := func(s *server) {
		_ = s.WriteRSTStream(<-s.requests, http2.ErrCodeRefusedStream)
	}
	asksToLeave := func(s *server) { _ = s.WriteGoAway(0, http2.ErrCodeNo, nil) }
	for name, test := range map[string]struct {
		serve  func(*server)
		status int
		err    string
		tried  int
	}{
		"answers":             {func(s *server) { s.answer(<-s.requests, "204") }, 204, "", 1},
		"refuses the request": {refuses, 0, "REFUSED_STREAM", 1},
		"did not begin the request": {func(s *server) {
			<-s.requests
			_ = s.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, 0, "GOAWAY", 1},
		"asks to leave before the request": {func(s *server) {
			if s.n == 0 {
				asksToLeave(s)
				return
			}
			s.answer(<-s.requests, "204")
		}, 204, "", 2},
		"asks to leave each time": {asksToLeave, 0, roundtrip.ErrLeft.Error(), 3},
	} {
		t.Run(name, func(t *testing.T) {
			status, err, tried, open := exchange(t, test.serve)
			if status != test.status || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("status %d, error %v; want %d, %q", status, err, test.status, test.err)
			}
			if tried != test.tried || open != 0 {
				t.Errorf("%d connections, of which %d are open; want %d, and none", tried, open, test.tried)
			}
		})
	}
}

func TestSingleSaysWhyItDoesNotConnect(t *testing.T) {
	refused := errors.New("refused")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://shop/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, secured := range []bool{false, true} {
		o := roundtrip.Options{Dial: dial, DialTLS: dial}
		if response, err := roundtrip.Single(o, "shop:443", secured).RoundTrip(r); !errors.Is(err, refused) {
			t.Errorf("%v, %v", response, err)
		}
	}
}
