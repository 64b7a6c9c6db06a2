package reach

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

func options(server http.RoundTripper) load.Options {
	base := time.Now()
	return load.Options{Worker: "load-0", Control: "http://control/", Now: func() history.Offset { return time.Since(base) }, Server: server}
}

// One request goes to each host, however many lanes lead there and however fast they are, and with an ID that no request of the load has.
func TestOneRequestToEachTarget(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Host+" "+r.Header.Get("X-Holdfast-Id"))
		return loadtest.Good(r), nil
	})
	plan := load.Plan{ID: "p", Share: history.Share{Index: 3, Workers: 4}, Lanes: []load.Lane{
		{Lane: history.LaneFresh, Target: "http://a/", Rate: 5000}, {Lane: history.LaneReused, Target: "http://a/other", Rate: 5000},
		{Lane: history.LaneOf(history.LaneFresh, "b"), Target: "http://b/", Rate: 0.01}, {Lane: history.LaneControl, Rate: 20},
	}}
	trials, err := Try(t.Context(), plan, options(server))
	if err != nil {
		t.Fatal(err)
	}
	want := []Trial{{Lane: "fresh", Target: "http://a/", Outcome: history.OK}, {Lane: "fresh@b", Target: "http://b/", Outcome: history.OK}}
	if diff := cmp.Diff(want, trials); diff != "" {
		t.Error(diff)
	}
	if len(asked) != 2 || !strings.Contains(strings.Join(asked, ","), "a load-0.try/fresh/0") {
		t.Errorf("asked %q", asked)
	}
}

// What became of a request tells whether the way is open.
func TestTrials(t *testing.T) {
	refused, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = refused.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer broken.Close()
	bad := httptest.NewServer(http.NotFoundHandler())
	defer bad.Close()
	for url, want := range map[string]struct{ blocked, broke bool }{
		"http://" + refused.Addr().String(): {false, false}, // somebody refused it
		broken.URL:                          {false, true},
		bad.URL:                             {false, false},
	} {
		plan := load.Plan{ID: "p", Lanes: []load.Lane{{Lane: history.LaneFresh, Target: url, Rate: 1}}}
		trials, err := Try(t.Context(), plan, options(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := trials[0]; got.Blocked() != want.blocked || got.Broke() != want.broke || got.Outcome == history.OK {
			t.Errorf("%s: %+v", url, got)
		}
	}
}

// Only where nobody answered at all, something may be in the way; only where a connection broke, a mesh may have done it.
func TestOutcomesThatSomethingInTheWayExplains(t *testing.T) {
	for outcome, want := range map[history.Outcome]string{
		history.TimeoutConnect: "blocked", history.Unreachable: "blocked", history.Reset: "broke", history.ClosedEarly: "broke",
		history.Refused: "", history.OK: "", history.BadStatus: "", history.TimeoutResponse: "", history.Unsent: "",
	} {
		trial := Trial{Outcome: outcome}
		got := map[bool]string{true: "blocked"}[trial.Blocked()] + map[bool]string{true: "broke"}[trial.Broke()]
		if got != want {
			t.Errorf("%s: %q, want %q", outcome, got, want)
		}
	}
	for err, want := range map[string]bool{"lookup peers.shop.svc.cluster.local. on 10.96.0.10:53: no such host": true, "remote error: tls: internal error": false} {
		if got := (Trial{Outcome: history.Other, Err: err}).Blocked(); got != want {
			t.Errorf("%s: blocked %t", err, got)
		}
	}
}
