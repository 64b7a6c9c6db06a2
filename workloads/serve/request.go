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

// ServeHTTP answers probes and passes on everything else.
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
			s.trap.Load().take(r) // a short response is still in net/http's buffer, and stays there
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
	_, _ = w.Write([]byte(body)) // a probe that went away needs no answer
}

// lastOfConnection counts the request and tells whether its connection ends with it.
func (s *server) lastOfConnection(r *http.Request) bool {
	if s.draining.Load() {
		return r.ProtoMajor == 1 // on HTTP/2 it has been said: again, net/http would refuse what is on its way
	}
	c := connOf(r.Context())
	return s.options.CloseAfter > 0 && c != nil && c.served.Add(1) >= int64(s.options.CloseAfter)
}

// trap takes requests and never answers them.
type trap struct {
	once   sync.Once
	caught chan struct{}
}

// take does nothing while there is no trap. Else it ends when the connection is gone; the panic keeps net/http from
// answering in our place.
func (t *trap) take(r *http.Request) {
	if t == nil {
		return
	}
	t.once.Do(func() { close(t.caught) })
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}
