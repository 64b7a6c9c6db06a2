package serve

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// frame is an HTTP/2 frame with a payload of this size.
func frame(kind, flags byte, length int) []byte {
	return append([]byte{0, byte(length >> 8), byte(length), kind, flags, 0, 0, 0, 1}, make([]byte, length)...)
}

// A frame may be inserted after every frame, except within a header block and before the first frame.
func TestFramesEndWhereTheyEnd(t *testing.T) {
	const settings, data = 4, 0
	var stream []byte
	var ends []int // where a frame may be inserted
	for _, f := range []struct {
		frame []byte
		after bool
	}{
		{frame(settings, 0, 300), true}, {frame(frameHeaders, flagEndHeaders, 20), true}, {frame(data, 1, 0), true},
		{frame(frameHeaders, 0, 5), false}, {frame(frameContinuation, 0, 1), false}, {frame(frameContinuation, flagEndHeaders, 7), true},
		{frame(data, flagEndHeaders, 9), true},
	} {
		stream = append(stream, f.frame...)
		if f.after {
			ends = append(ends, len(stream))
		}
	}
	for size := 1; size <= len(stream); size++ {
		var f frames
		if f.between() {
			t.Fatal("a frame may stand before the first")
		}
		var got, want []int
		for at := 0; at < len(stream); at += size {
			end := min(at+size, len(stream))
			f.follow(stream[at:end])
			if f.between() {
				got = append(got, end)
			}
			if slices.Contains(ends, end) {
				want = append(want, end)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("written %d bytes at a time, a frame may stand at %v, want %v", size, got, want)
		}
	}
}

// script is a connection with fixed input.
type script struct {
	io.Reader
	io.Writer
}

func (script) Close() error                     { return nil }
func (script) LocalAddr() net.Addr              { return nil }
func (script) RemoteAddr() net.Addr             { return nil }
func (script) SetDeadline(time.Time) error      { return nil }
func (script) SetReadDeadline(time.Time) error  { return nil }
func (script) SetWriteDeadline(time.Time) error { return nil }

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

// Shutdown finishes the requests in flight and cuts long-lived connections without notifying their handlers.
func TestShutdownForgetsWhatLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes()
		term, ended := start(t, l, Options{AtTerm: Shutdown}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/lasts" {
				lastingHandler(w, r)
				return
			}
			<-time.After(3 * time.Second)
		})
		c, slow := dial(t, l), dial(t, l)
		c.says("GET /lasts HTTP/1.1\r\nHost: server\r\n\r")
		c.says("one")
		c.hears("heard one")
		began := time.Now()
		time.AfterFunc(time.Second, term)
		slow.mustGet("/", true)
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("answered after %s", took)
		}
		if line, err := c.read.ReadString('\n'); line != "" || err != io.EOF {
			t.Errorf("heard %q, %v; want the end", line, err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
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
