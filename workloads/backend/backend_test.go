package backend

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

func TestParse(t *testing.T) {
	env := map[string]string{
		EnvPod: "backend-1", EnvNode: "w2", EnvRevision: "5f9c", EnvZones: "w1=a,w2=b",
	}
	who := Options{Listen: ":8080", Pod: "backend-1", Node: "w2", Zone: "b", Revision: "5f9c"}
	full := who
	full.Listen, full.StartDelay, full.ServiceTime = "127.0.0.1:81", 5*time.Second, 20*time.Millisecond
	full.EndingTime, full.Work = time.Second, 3*time.Millisecond
	full.Broken = Hang
	full.Serve = serve.Options{AtTerm: serve.Hold, Quiet: time.Second, Limit: 9 * time.Second, CloseAfter: 100}
	tests := map[string]struct {
		args []string
		want Options
	}{
		"defaults":   {nil, who},
		"everything": {full.Args(), full},
		"spelled out": {[]string{"--listen=127.0.0.1:81", "--start-delay=5s", "--service-time=20ms", "--ending-time=1s", "--work=3ms",
			"--broken=hang",
			"--at-term=hold", "--quiet=1s", "--limit=9s", "--close-after=100"}, full},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Parse(test.args, func(name string) string { return env[name] })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b func() bool) bool { return a == nil && b == nil })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	o := Options{Pod: "backend-1", Node: "w1", Zone: "a", Revision: "5f9c"}
	for _, test := range []struct{ id, want string }{{"worker-0/fresh/7", "ok worker-0/fresh/7\n"}, {"", "ok -\n"}} {
		r := httptest.NewRequest(http.MethodGet, "/any/path?at=all", nil)
		r.Header.Set(HeaderID, test.id)
		w := httptest.NewRecorder()
		o.answers().ServeHTTP(w, r)
		got := w.Result()
		body, err := io.ReadAll(got.Body)
		if err != nil || string(body) != test.want || got.ContentLength != int64(len(test.want)) || got.StatusCode != http.StatusOK {
			t.Errorf("status %d, body %q of length %d, %v; want 200 and %q", got.StatusCode, body, got.ContentLength, err, test.want)
		}
		for name, want := range map[string]string{HeaderPod: "backend-1", HeaderNode: "w1", HeaderZone: "a", HeaderRevision: "5f9c"} {
			if got.Header.Get(name) != want {
				t.Errorf("%s: %q, want %q", name, got.Header.Get(name), want)
			}
		}
	}
}

// single is an in-memory listener with one connection.
type single struct {
	net.Conn
	accepted bool
	closed   chan struct{}
	once     sync.Once
}

func (s *single) Accept() (net.Conn, error) {
	if !s.accepted {
		s.accepted = true
		return s.Conn, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (s *single) Addr() net.Addr { return s.LocalAddr() }

// TestEndingTime: on a kept connection, answers take ServiceTime until SIGTERM, and EndingTime after it.
func TestEndingTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		ctx, term := context.WithCancel(t.Context())
		o := Options{ServiceTime: 30 * time.Millisecond, EndingTime: 2 * time.Second}
		ended := make(chan error, 1)
		go func() {
			ended <- serve.Run(ctx, &single{Conn: server, closed: make(chan struct{})}, o.Serve, o.answers())
		}()
		read := bufio.NewReader(client)
		ask := func() (took time.Duration, last bool) {
			began := time.Now()
			if _, err := io.WriteString(client, "GET / HTTP/1.1\r\nHost: b\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			response, err := http.ReadResponse(read, nil)
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(response.Body); string(body) != "ok -\n" || err != nil {
				t.Errorf("answered %q, error %v", body, err)
			}
			return time.Since(began), response.Close
		}
		if took, last := ask(); took != o.ServiceTime || last {
			t.Errorf("an answer took %s, closing %t; want %s", took, last, o.ServiceTime)
		}
		term()
		synctest.Wait()
		if took, last := ask(); took != o.EndingTime || !last {
			t.Errorf("an answer took %s while it ended, closing %t; want %s", took, last, o.EndingTime)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// freePort returns an address that nothing listens on at the moment.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// TestRun covers the start delay, during which connections are refused, serving, and the end.
func TestRun(t *testing.T) {
	ctx, term := context.WithCancel(t.Context())
	o := Options{Listen: freePort(t), StartDelay: 300 * time.Millisecond, Pod: "p", Serve: serve.Options{Quiet: 50 * time.Millisecond}}
	began, ended := time.Now(), make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	refused, client := 0, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		response, err := client.Get("http://" + o.Listen + "/")
		if err == nil {
			_ = response.Body.Close()
			if pod := response.Header.Get(HeaderPod); pod != "p" {
				t.Errorf("answered by %q", pod)
			}
			break
		}
		refused++
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("it ended before it listened: %v", err)
		}
	}
	if took := time.Since(began); took < o.StartDelay || refused == 0 {
		t.Errorf("answers after %s, refused %d requests before: the start delay is %s", took, refused, o.StartDelay)
	}
	term()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := client.Get("http://" + o.Listen + "/"); err == nil {
		t.Error("still answers after the end")
	}
}
