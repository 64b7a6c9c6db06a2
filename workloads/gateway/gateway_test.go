package gateway

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// backend is an upstream with the given handler.
func backend(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func good(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("X-Holdfast-Pod", "good")
	_, _ = io.WriteString(w, "ok\n")
}

func resets(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func stalls(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func truncates(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, "half")
}

func unavailable(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusServiceUnavailable)
}

// refuses returns an address where nothing listens.
func refuses(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	return l.Addr().String()
}

// front starts a gateway whose upstreams are used in this order, whatever their ports.
func front(t *testing.T, o Options, upstreams ...string) (*gateway, string) {
	t.Helper()
	g := newGateway(o.WithDefaults())
	g.pool.known = true
	for _, a := range upstreams {
		g.pool.members = append(g.pool.members, &upstream{address: a})
	}
	s := httptest.NewServer(g.answers())
	t.Cleanup(s.Close)
	return g, s.URL
}

// answer is the response that a client got.
type answer struct {
	Status int
	Tries  string
	Body   string
}

func ask(t *testing.T, method, url string, body io.Reader) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header.Get(HeaderTries), string(got)}
}

func TestTries(t *testing.T) {
	well := func(tries string) answer { return answer{200, tries, "ok\n"} }
	quick := Options{PerTry: 100 * time.Millisecond}
	tests := map[string]struct {
		options   Options
		upstreams []string
		want      answer
		stats     Stats
	}{
		"good":             {Options{}, []string{backend(t, good)}, well("1"), Stats{Tries: 1}},
		"refused":          {Options{}, []string{refuses(t), backend(t, good)}, well("2"), Stats{Tries: 2, Retried: 1, Masked: 1}},
		"reset":            {Options{}, []string{backend(t, resets), backend(t, good)}, well("2"), Stats{Tries: 2, Retried: 1, Masked: 1}},
		"truncated":        {Options{}, []string{backend(t, truncates), backend(t, good)}, well("2"), Stats{Tries: 2, Retried: 1, Masked: 1}},
		"stalled":          {quick, []string{backend(t, stalls), backend(t, good)}, well("2"), Stats{Tries: 2, Retried: 1, Masked: 1}},
		"unavailable":      {Options{}, []string{backend(t, unavailable), backend(t, good)}, well("2"), Stats{Tries: 2, Retried: 1, Masked: 1}},
		"two dead":         {Options{}, []string{refuses(t), backend(t, resets), backend(t, good)}, well("3"), Stats{Tries: 3, Retried: 1, Masked: 1}},
		"one too many":     {Options{MaxTries: 2}, []string{backend(t, truncates), backend(t, unavailable), backend(t, good)}, answer{503, "2", ""}, Stats{Tries: 2, Retried: 1}},
		"the same again":   {Options{}, []string{refuses(t)}, answer{502, "8", ""}, Stats{Tries: 8, Retried: 1, Failed: 1}},
		"no retries":       {Options{MaxTries: 1}, []string{refuses(t), backend(t, good)}, answer{502, "1", ""}, Stats{Tries: 1, Failed: 1}},
		"took too long":    {Options{PerTry: 100 * time.Millisecond, MaxTries: 2}, []string{backend(t, stalls), backend(t, stalls)}, answer{504, "2", ""}, Stats{Tries: 2, Retried: 1, Failed: 1}},
		"no upstream":      {Options{}, nil, answer{503, "0", ""}, Stats{Failed: 1}},
		"without keeping":  {Options{NoKeepAlive: true}, []string{backend(t, good)}, well("1"), Stats{Tries: 1}},
		"long and chunked": {Options{}, []string{backend(t, long)}, answer{200, "1", strings.Repeat("x", 3*headBytes)}, Stats{Tries: 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, url := front(t, test.options, test.upstreams...)
			got := ask(t, http.MethodGet, url, nil)
			if got.Status != http.StatusOK {
				got.Body = "" // its text is tested below
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			test.stats.Requests = 1
			if diff := cmp.Diff(test.stats, statsOf(t, url)); diff != "" {
				t.Errorf("stats (-want +got):\n%s", diff)
			}
		})
	}
}

func long(w http.ResponseWriter, _ *http.Request) {
	for range 3 {
		_, _ = io.WriteString(w, strings.Repeat("x", headBytes))
	}
}

// statsOf returns a gateway's Stats, without those of its upstreams.
func statsOf(t *testing.T, url string) Stats {
	t.Helper()
	var got Stats
	if err := json.Unmarshal([]byte(ask(t, http.MethodGet, url+StatsPath, nil).Body), &got); err != nil {
		t.Fatal(err)
	}
	got.Upstreams = nil
	return got
}

// TestNothingIsRepeatedThatMayNotBe: a request with a body, or with a method that changes something, is sent only once.
func TestNothingIsRepeatedThatMayNotBe(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodGet} {
		var seen atomic.Int64
		dies := func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			seen.Add(1)
			panic(http.ErrAbortHandler)
		}
		_, url := front(t, Options{}, backend(t, dies), backend(t, dies))
		if got := ask(t, method, url, strings.NewReader("a body")); got.Status != http.StatusBadGateway || got.Tries != "1" {
			t.Errorf("%s: %+v", method, got)
		}
		if seen.Load() != 1 {
			t.Errorf("%s was sent %d times", method, seen.Load())
		}
	}
}

// TestHeadersPass: headers pass in both directions, except for hop-by-hop headers.
func TestHeadersPass(t *testing.T) {
	_, url := front(t, Options{}, backend(t, func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"X-Holdfast-Id", "X-Hop", "X-Forwarded-For"} {
			w.Header().Set("Seen-"+name, r.Header.Get(name))
		}
		w.Header().Set("Connection", "X-Mine")
		w.Header().Set("X-Mine", "secret")
		w.Header().Set("X-Holdfast-Pod", "p")
	}))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"X-Holdfast-Id": {"7"}, "X-Hop": {"secret"}, "Connection": {"X-Hop"}}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	want := map[string]string{
		"Seen-X-Holdfast-Id": "7", "Seen-X-Hop": "", "Seen-X-Forwarded-For": "127.0.0.1", "X-Mine": "", "X-Holdfast-Pod": "p",
	}
	for name, value := range want {
		if got := response.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
}

// flaky answers the first request of each connection and cuts the second.
func flaky(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				read := bufio.NewReader(c)
				if _, err := http.ReadRequest(read); err != nil {
					return
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
				_, _ = http.ReadRequest(read)
			}()
		}
	}()
	return l.Addr().String()
}

// TestTransportRepeatsNothing: by default net/http silently sends the second request again.
func TestTransportRepeatsNothing(t *testing.T) {
	for _, test := range []struct {
		maxTries int
		want     answer
	}{{1, answer{502, "1", ""}}, {2, answer{200, "2", "ok\n"}}} {
		_, url := front(t, Options{MaxTries: test.maxTries}, flaky(t))
		if got, want := ask(t, http.MethodGet, url, nil), (answer{200, "1", "ok\n"}); got != want {
			t.Fatalf("first: got %+v, want %+v", got, want)
		}
		got := ask(t, http.MethodGet, url, nil)
		if got.Status != http.StatusOK {
			got.Body = ""
		}
		if got != test.want {
			t.Errorf("second, with %d tries: got %+v, want %+v", test.maxTries, got, test.want)
		}
	}
}
