package serve

import (
	"bufio"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lastingHandler answers each line until it is notified to leave or to close.
func lastingHandler(w http.ResponseWriter, r *http.Request) {
	c, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer func() { _ = c.Close() }()
	lines := make(chan string)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(both); in.Scan(); {
			lines <- in.Text()
		}
	}()
	leaving := Leaving(r.Context())
	for {
		select {
		case line, more := <-lines:
			if !more {
				return
			}
			_, _ = fmt.Fprintln(c, "heard", line)
		case <-leaving:
			_, _ = fmt.Fprintln(c, "leave")
			leaving = nil
		case <-Closing(r.Context()):
			_, _ = fmt.Fprintln(c, "closing")
			return
		}
	}
}

func (w *wire) says(line string) { _, _ = fmt.Fprintln(w, line) }

func (w *wire) hears(want string) {
	w.t.Helper()
	if got, err := w.read.ReadString('\n'); got != want+"\n" {
		w.t.Errorf("heard %q, %v; want %q", got, err, want)
	}
}

// A handler of a long-lived connection is notified to leave, and counts as a request in flight until three quarters of the
// limit.
func TestDrainOfWhatLasts(t *testing.T) {
	for name, leaves := range map[string]bool{"the client leaves": true, "the client stays": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newPipes()
				term, ended := start(t, l, Options{Limit: 8 * time.Second}, lastingHandler)
				c := dial(t, l)
				c.says("GET / HTTP/1.1\r\nHost: server\r\n\r")
				c.says("one")
				c.hears("heard one")
				began := time.Now()
				term()
				c.hears("leave")
				c.says("two")
				c.hears("heard two")
				want := 6 * time.Second
				if leaves {
					want = DefaultQuiet
					_ = c.Close()
				} else {
					c.hears("closing")
				}
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(began).Round(100 * time.Millisecond); took != want {
					t.Errorf("it took %s to end, want %s", took, want)
				}
			})
		})
	}
}

// HTTP/2 requests that are on their way at SIGTERM are answered. They are not refused, so the client does not send them
// again.
func TestDrainRefusesNothingOnItsWay(t *testing.T) {
	s, counts := &service{}, &tally{}
	s.target.Store(startEndpoint(t, Options{Quiet: time.Second}))
	one := &http.Transport{DialContext: s.dial, Protocols: new(http.Protocols)}
	one.Protocols.SetUnencryptedHTTP2(true)
	defer one.CloseIdleConnections()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					counts.fetch(t.Context(), &http.Client{Transport: one})
				}
			}
		})
	}
	for n := range int64(5) {
		for counts.requests.Load() < (n+1)*500 {
			select {
			case <-t.Context().Done():
				t.Fatal("requests end nowhere")
			case <-time.After(time.Millisecond):
			}
		}
		s.replace(t, startEndpoint(t, Options{Quiet: time.Second}))
	}
	close(stop)
	wg.Wait()
	for _, ended := range append(s.endings, last(s)) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if counts.failed.Load() > 0 || counts.requests.Load() < 1000 {
		t.Errorf("%d of %d requests lost, %d of them masked; the first: %v", counts.failed.Load(), counts.requests.Load(),
			counts.masked.Load(), counts.problem)
	}
}

// last ends the last server.
func last(s *service) <-chan error {
	e := s.target.Load()
	e.term()
	return e.ended
}
