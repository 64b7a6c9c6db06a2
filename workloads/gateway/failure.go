package gateway

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
)

var errNoUpstream = errors.New("no upstream")

// failure is the error of a request that no upstream answered.
type failure struct {
	err   error
	tries int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// fail responds to a request that no upstream answered: 504 if the last try timed out, 503 if there is no upstream,
// otherwise 502.
func (g *gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client went away; without the panic net/http would send an empty 200
	}
	g.stats.failed.Add(1)
	status := http.StatusBadGateway
	switch {
	case errors.Is(err, errTryTimeout):
		status = http.StatusGatewayTimeout
	case errors.Is(err, errNoUpstream):
		status = http.StatusServiceUnavailable
	}
	var f *failure
	if errors.As(err, &f) {
		w.Header().Set(HeaderTries, strconv.Itoa(f.tries))
	}
	slog.Warn("request failed", "status", status, "error", err)
	http.Error(w, err.Error(), status)
}

// quiet discards the reverse proxy's own log: fail counts and logs every failure.
type quiet struct{}

func (quiet) Write(b []byte) (int, error) { return len(b), nil }
