package gateway

import (
	"log"
	"net/http"
	"net/http/httputil"
	"strconv"
)

// HeaderTries is the response header with the number of tries.
const HeaderTries = "X-Holdfast-Gateway-Tries"

// StatsPath is the path at which the gateway itself responds with its Stats as JSON.
const StatsPath = "/stats"

// gateway is an http.RoundTripper that tries several upstreams. In front of it is the reverse proxy of net/http/httputil,
// which handles hop-by-hop headers.
type gateway struct {
	options Options
	pool    *pool
	// first is the transport of first tries. Further tries use again, which opens a new connection each time: the kept
	// connections may all lead to the same dead pod.
	first, again *http.Transport
	stats        stats
}

func newGateway(o Options) *gateway {
	g := &gateway{
		options: o, pool: &pool{health: o.Health, ejection: o.Ejection},
		first: newTransport(o.Connect, !o.NoKeepAlive), again: newTransport(o.Connect, false),
	}
	if len(o.Upstreams) > 0 {
		g.pool.set(o.Upstreams)
	}
	return g
}

// answers forwards every request except those for StatsPath.
func (g *gateway) answers() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetXForwarded() },
		Transport:    g,
		ErrorHandler: g.fail,
		ErrorLog:     log.New(quiet{}, "", 0),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+StatsPath, g.tell)
	mux.Handle("/", proxy)
	return mux
}

// RoundTrip tries upstreams until one answers, or until no further try is allowed or safe. Every response and every error
// contains the number of tries.
func (g *gateway) RoundTrip(r *http.Request) (*http.Response, error) {
	g.stats.requests.Add(1)
	var tried []*upstream
	for {
		u := g.pool.pick(tried)
		if u == nil {
			return nil, &failure{err: errNoUpstream, tries: len(tried)}
		}
		tried = append(tried, u)
		response, err := g.try(r, u, len(tried))
		switch {
		case r.Context().Err() != nil:
			// The client went away, which says nothing about the upstream.
		case len(tried) < g.options.MaxTries && repeatable(r) && (err != nil || badGateway(response)):
			discard(response)
			continue
		}
		if err != nil {
			return nil, &failure{err: err, tries: len(tried)}
		}
		if len(tried) > 1 && !badGateway(response) {
			g.stats.masked.Add(1)
		}
		response.Header.Set(HeaderTries, strconv.Itoa(len(tried)))
		return response, nil
	}
}

// try sends the request to one upstream and counts the try.
func (g *gateway) try(r *http.Request, u *upstream, number int) (*http.Response, error) {
	g.stats.tries.Add(1)
	through := g.first
	if number > 1 {
		through = g.again
	}
	if number == 2 {
		g.stats.retried.Add(1)
	}
	response, err := g.once(r, u, through)
	if r.Context().Err() == nil {
		g.pool.answered(u, err == nil && !badGateway(response))
	}
	return response, err
}

// repeatable reports whether sending the request twice has the same effect as sending it once.
func repeatable(r *http.Request) bool {
	if r.Body != nil && r.Body != http.NoBody {
		return false
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions
}

// badGateway reports whether the upstream could not reach what it serves.
func badGateway(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

func discard(response *http.Response) {
	if response != nil {
		_ = response.Body.Close()
	}
}
