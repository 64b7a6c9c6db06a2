// Server behaves well unless a flag sets otherwise: it answers a share of the requests late once it was told to end, starts late, ends at once, or asks a
// dependency before it is ready. It knows nothing of holdfast.
package main

import (
	"context"
	"flag"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

func main() {
	late := flag.Uint64("late", 0, "after SIGTERM one of so many requests is answered 2.5 s late; 0: none")
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
		e.serve(&http.Server{Addr: address, Handler: handler(*late, *depend, &e)}) //nolint:gosec // time-outs are the clients'
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

func handler(late uint64, depend string, e *ending) http.Handler {
	var served atomic.Uint64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ready" {
			w.WriteHeader(status(r.Context(), depend))
			return
		}
		if e.leaving.Load() {
			w.Header().Set("Connection", "close")
		}
		if late > 0 && e.told.Load() && served.Add(1)%late == 0 {
			select {
			case <-time.After(2500 * time.Millisecond):
			case <-r.Context().Done():
			}
		}
		_, _ = io.WriteString(w, "hello\n")
	})
}
