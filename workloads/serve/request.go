package serve

import (
	"net/http"
	"strconv"
	"sync"
)

// Paths of the probes.
const (
	HealthPath = "/healthz"
	ReadyPath  = "/readyz"
)

// ServeHTTP answers probes and forwards everything else.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.lastOfConnection(r) {
		w.Header().Set("Connection", "close")
	}
	switch r.URL.Path {
	case HealthPath:
		probe(w, true)
	case ReadyPath:
		probe(w, s.options.Ready == nil || s.options.Ready())
	default:
		s.traffic.begin()
		defer s.traffic.end()
		s.trap.Load().take(r)
		s.next.ServeHTTP(w, r)
		if c := connOf(r.Context()); c == nil || !c.hijacked.Load() {
			s.trap.Load().take(r) // a short response is still in net/http's buffer, and the trap keeps it there
		}
	}
}

func probe(w http.ResponseWriter, ok bool) {
	status, body := http.StatusOK, "ok\n"
	if !ok {
		status, body = http.StatusServiceUnavailable, "not ready\n"
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // an error means that the client went away
}

// lastOfConnection counts the request, and reports whether its connection must be closed after it.
func (s *server) lastOfConnection(r *http.Request) bool {
	if s.draining.Load() {
		return r.ProtoMajor == 1 // HTTP/2 clients got a GOAWAY; "Connection: close" would make net/http refuse requests on their way
	}
	c := connOf(r.Context())
	return s.options.CloseAfter > 0 && c != nil && c.served.Add(1) >= int64(s.options.CloseAfter)
}

// trap holds requests and never answers them.
type trap struct {
	once   sync.Once
	caught chan struct{}
}

// take does nothing if there is no trap. Otherwise it blocks until the connection is gone; the panic keeps net/http from
// sending a response.
func (t *trap) take(r *http.Request) {
	if t == nil {
		return
	}
	t.once.Do(func() { close(t.caught) })
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}
