package collect

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
)

// dropped is a network that drops the first n requests.
func dropped(n int32) http.RoundTripper {
	var asked atomic.Int32
	return loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		if asked.Add(1) <= n {
			return nil, os.ErrDeadlineExceeded
		}
		return loadtest.Good(r), nil
	})
}

// reachAll asks workers, each of which has a network of its own to the target.
func reachAll(t *testing.T, lost int, networks ...http.RoundTripper) ([]Unreached, error) {
	t.Helper()
	var workers []Worker
	ways := map[string]*network{}
	for i, server := range networks {
		host := string(rune('a' + i))
		ways[host] = &network{worker: fakeWorker(t, server), d: loadtest.NewDice(uint64(i)), lost: lost}
		workers = append(workers, Worker{URL: "http://" + host + proxyPath})
	}
	client := &http.Client{Transport: loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) { return ways[r.URL.Host].carry(r) })}
	return Reach(t.Context(), client, workers, twoLanes(time.Minute))
}

// A worker that comes nowhere time and again is blocked. One that does later is not, and neither is one whose answers get lost on the way to
// the harness.
func TestReach(t *testing.T) {
	resets := loadtest.RoundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("read: connection reset by peer") })
	for name, test := range map[string]struct {
		networks []http.RoundTripper
		lost     int
		want     string // of the error; empty: none
	}{
		"open":                     {[]http.RoundTripper{dropped(0), dropped(0)}, 0, ""},
		"slow at first":            {[]http.RoundTripper{dropped(0), dropped(2)}, 0, ""},
		"calls and answers lost":   {[]http.RoundTripper{dropped(0), dropped(1)}, 30, ""},
		"blocked for one of three": {[]http.RoundTripper{dropped(0), dropped(99), dropped(0)}, 0, "1 of 3 load workers cannot reach http://target/: timeout-connect ("},
		"blocked for all":          {[]http.RoundTripper{dropped(99), dropped(99)}, 0, "2 of 2 load workers cannot reach http://target/: timeout-connect ("},
		"another failure":          {[]http.RoundTripper{resets}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := reachAll(t, test.lost, test.networks...)
				var no *UnreachedError
				switch {
				case test.want == "" && err != nil:
					t.Error(err)
				case test.want != "" && (!errors.As(err, &no) || !strings.HasPrefix(err.Error(), test.want)):
					t.Errorf("got %v, want %s", err, test.want)
				case test.want != "" && (len(no.Targets()) != 1 || no.Targets()[0].Lane != history.LaneFresh):
					t.Errorf("targets %+v", no.Targets())
				}
			})
		})
	}
}

// What a worker refuses, such as a header from a Secret that is not there, is no question of the network.
func TestReachOfAPlanThatAWorkerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{worker: fakeWorker(t, dropped(0)), d: loadtest.NewDice(1)}
		_, err := Reach(t.Context(), n.client(), []Worker{{URL: "http://api" + proxyPath}}, load.Plan{ID: "p"})
		if err == nil || !strings.Contains(err.Error(), "load worker 1 of 1: POST /try: the worker said 400: plan p: no lanes") {
			t.Error(err)
		}
	})
}
