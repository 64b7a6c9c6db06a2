package collect

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// A worker sends any request to any address. So a client that reaches its port is refused, for each call and under each name of the host: what it wanted sent
// is not sent, and what he wanted forgotten is still there.
func TestAWorkerTakesOrdersFromItsRunAlone(t *testing.T) {
	var asked atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(target.Close)
	token := NewToken()
	w, err := newWorker(t.Context(), WorkerOptions{Name: "load-0", Listener: &pipes{}, TokenSum: TokenSum(token), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	plan := planFor("p1", time.Hour)
	plan.Lanes[0].Target, plan.Lanes[0].Rate = target.URL, 0.01
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	do := func(token, method, path string) int {
		rw := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
		if r.Host = "evil.test"; token != "" {
			r.Header.Set(headerToken, token)
		}
		w.api().ServeHTTP(rw, r)
		return rw.Code
	}
	calls := [][2]string{
		{"PUT", "/plan"}, {"POST", "/start?plan=p1&at=1h"}, {"POST", "/stop?plan=p1&at=0s"}, {"GET", "/status?plan=p1"}, {"GET", "/clock"},
		{"POST", "/report?plan=p1&stored=99"}, {"GET", "/segments/1?plan=p1"}, {"POST", "/done?plan=p1"}, {"GET", "/healthz/../clock"}, {"POST", "//plan"},
	}
	for who, forged := range map[string]string{
		"nobody": "", "another run": NewToken(), "a reader of the pod": TokenSum(token), "one with a part of it": token[:20], "one with more": token + "x",
	} {
		for _, c := range calls {
			if got := do(forged, c[0], c[1]); got != http.StatusForbidden {
				t.Errorf("%s: %s %s was answered with %d", who, c[0], c[1], got)
			}
		}
	}
	if asked.Load() != 0 || w.current != nil {
		t.Errorf("%d requests were sent, and the plan is %v", asked.Load(), w.current)
	}
	if got := do("", "GET", "/healthz"); got != http.StatusOK {
		t.Errorf("the kubelet was answered with %d", got)
	}
	if got := do(token, "PUT", "/plan"); got != http.StatusOK {
		t.Errorf("the run was answered with %d", got)
	}
}

// The run's own calls carry the token, from the first to the last; with another one it does not begin, and says why.
func TestASessionCarriesTheToken(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(target.Close)
	token := NewToken()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- RunWorker(t.Context(), WorkerOptions{Name: "load-0", Listener: l, TokenSum: TokenSum(token), Log: slog.New(slog.DiscardHandler)})
	}()
	plan := planFor("p1", 300*time.Millisecond)
	plan.Lanes[0].Target = target.URL
	sink, err := history.Create(t.TempDir(), history.Header{Scenario: "s", Plan: &history.Plan{}})
	if err != nil {
		t.Fatal(err)
	}
	worker := Worker{URL: "http://" + l.Addr().String(), Token: NewToken()}
	if _, err := Start(t.Context(), http.DefaultClient, []Worker{worker}, plan, sink); err == nil || !strings.Contains(err.Error(), "said 403") {
		t.Errorf("with another token: %v", err)
	}
	worker.Token = token
	s, err := Start(t.Context(), http.DefaultClient, []Worker{worker}, plan, sink)
	if err == nil {
		err = s.Stop(t.Context())
	}
	if err != nil || s.Totals().Sent == 0 {
		t.Errorf("%v, %+v", err, s)
	}
	if err := <-ended; err != nil { // it was told that all is collected
		t.Error(err)
	}
}

// pipes is a listener of connections in memory, whose deadlines follow the clock of a synctest bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// A caller that never ends its request is cut off, whether it stalls in the body, sends it a byte at a time, or stalls in the headers.
func TestASlowCallerIsCutOff(t *testing.T) {
	const head = "PUT /plan HTTP/1.1\r\nHost: w\r\nContent-Length: 1000000\r\n"
	for name, test := range map[string]struct {
		begin, then string
	}{"in the body": {head + "\r\n{\"id\": \"", ""}, "a byte at a time": {head + "\r\n", " "}, "in the headers": {head, ""}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newWorker(t.Context(), WorkerOptions{Name: "load-0", Listener: &pipes{}, Server: http.DefaultTransport, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					t.Fatal(err)
				}
				l := &pipes{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
				here, there := net.Pipe()
				l.conns <- there
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- w.serve(ctx, l) }()
				began := time.Now()
				cut := make(chan struct{})
				go func() { // the other end closes
					_, _ = io.Copy(io.Discard, here)
					close(cut)
				}()
				written := make(chan struct{})
				go func() {
					defer close(written)
					_, err := io.WriteString(here, test.begin)
					for test.then != "" && err == nil {
						time.Sleep(time.Second)
						_, err = io.WriteString(here, test.then)
					}
				}()
				select {
				case <-cut:
				case <-time.After(5 * time.Minute):
				}
				if took := time.Since(began); took > time.Minute {
					t.Errorf("the connection was open after %s", took)
				}
				_ = here.Close()
				<-written // it may be about to write when the connection is cut
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
