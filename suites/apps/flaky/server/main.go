// Server behaves well unless a flag says otherwise: it fails a fixed share of the requests at each of two ports, in one way at a time, so that what is
// reported of it can be compared with what it did, starts late, ends at once, or asks a dependency before it says that it is ready. It knows nothing
// of holdfast.
package main

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

func main() {
	how := flag.String("how", "reset", "reset, close, slow, wrong, error or late, which is 2.5 s, and only after SIGTERM")
	every := flag.Uint64("every", 0, "one of so many requests of a port fails; 0: none")
	start := flag.Duration("start-delay", 0, "time before it listens")
	rude := flag.Bool("rude", false, "end at SIGTERM at once")
	depend := flag.String("depend", "", "URL that /ready asks first")
	job := flag.Duration("job", 0, "be a batch job that takes this long, and listen on nothing")
	flag.Parse()
	if *job > 0 {
		time.Sleep(*job)
		return
	}
	time.Sleep(*start)
	e := ending{rude: *rude}
	for _, address := range []string{":8080", ":8081"} {
		e.serve(&http.Server{Addr: address, Handler: handler(*how, *every, *depend, &e)}) //nolint:gosec // time-outs are the clients'
	}
	e.wait(context.Background())
}

// status is that of a dependency's answer.
func status(ctx context.Context, depend string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, depend, nil)
	if err != nil {
		return http.StatusServiceUnavailable
	}
	answer, err := (&http.Client{Timeout: 700 * time.Millisecond}).Do(r)
	if err != nil {
		return http.StatusServiceUnavailable
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// handler counts the requests of a port, so that of those that come there exactly the share fails.
func handler(how string, every uint64, depend string, e *ending) http.Handler {
	var served atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" {
			w.WriteHeader(status(r.Context(), depend))
			return
		}
		if e.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		if every > 0 && (how != "late" || e.told.Load()) && served.Add(1)%every == 0 && fail(w, r, how) {
			return
		}
		_, _ = io.WriteString(w, "hello\n")
	})
}

// fail fails a request. It returns false if the answer is still to come.
func fail(w http.ResponseWriter, r *http.Request, how string) bool {
	switch how {
	case "slow", "late":
		after := time.Minute
		if how == "late" {
			after = 2500 * time.Millisecond
		}
		select {
		case <-time.After(after):
		case <-r.Context().Done():
		}
		return false
	case "wrong":
		_, _ = io.WriteString(w, "goodbye\n")
		return true
	case "error":
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	}
	hijacker, is := w.(http.Hijacker)
	if !is {
		return false
	}
	c, _, err := hijacker.Hijack()
	if err != nil {
		return false
	}
	if tcp, is := c.(*net.TCPConn); is && how == "reset" {
		_ = tcp.SetLinger(0) // closing then sends a reset
	}
	_ = c.Close()
	return true
}
