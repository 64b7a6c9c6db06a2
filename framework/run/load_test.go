package run

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// flaky answers as a backend does, but each tenth request. It tells of each that was answered.
func flaky(t *testing.T) (url string, answered <-chan struct{}) {
	t.Helper()
	told := make(chan struct{}, 10_000) // more than any of these tests sends
	var mu sync.Mutex
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n++; n%10 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "ok %s\n", r.Header.Get("X-Holdfast-Id"))
		told <- struct{}{}
	}))
	t.Cleanup(s.Close)
	return s.URL, told
}

// workAt runs a real load worker, as it runs in a pod.
func workAt(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- collect.RunWorker(ctx, collect.WorkerOptions{Name: "load-0", Listener: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// Real load from a real worker, through an API server's proxy, into a record that is judged: also when the scenario is
// interrupted, what was sent is collected to the last request.
func TestLoadReachesTheRecord(t *testing.T) {
	for name, interrupted := range map[string]bool{"run to its end": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			c, s := newFixture(t), quiet()
			worker, curl := workAt(t), &curlLog{}
			c.onCreate = func(fake *clustertest.Cluster) {
				fake.PodURL = worker
				fake.Machines[1].OnExec = curl.exec
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			url, answered := flaky(t)
			wait := func(ctx context.Context) error {
				for range 40 {
					select {
					case <-answered:
					case <-ctx.Done():
						return ctx.Err()
					}
				}
				if interrupted {
					cancel()
				}
				return nil
			}
			s.Steady, s.Hold, s.Recovered = time.Millisecond, time.Millisecond, time.Millisecond
			s.Faults = []fault.Fault{errand{name: "a wait", do: wait}}
			s.Load = []load.Lane{{Lane: history.LaneReused, Target: url, Rate: 200}, {Lane: history.LaneControl, Rate: 50}}
			s.Promises = []invariant.Invariant{invariant.NoFailedRequests{}}
			if got := c.one(ctx, s); got.outcome != verdict.Violated || !strings.Contains(got.why, "bad-status") {
				t.Errorf("got %+v, want Violated: each tenth request fails", got)
			}
			own := len(curl.asked) - 1 // the endpoints' own addresses; the control lane's target is the worker itself
			if own < 1 || curl.asked[own] != url || slices.Contains(curl.asked[:own], url) {
				t.Errorf("before there was load %v was asked from the load node, want the endpoints and then %s", curl.asked, url)
			}
			checkLoad(t, c.recorded(s), interrupted)
			if !loadLine.MatchString(c.out.String()) {
				t.Errorf("said:\n%s", c.out.String())
			}
		})
	}
}

var loadLine = regexp.MustCompile(`steady \d+s: load flows, nothing is disturbed; \d+ requests, \d+ failed\n`)

// checkLoad wants a whole record in which each request that was planned has its row.
func checkLoad(t *testing.T, r history.Run, interrupted bool) {
	t.Helper()
	rows := map[history.Lane]uint64{}
	for row, err := range r.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		rows[row.Lane]++
	}
	planned := map[history.Lane]uint64{}
	for _, e := range r.Events {
		if e.Load != nil {
			planned[e.Load.Lane] = e.Load.Planned
		}
	}
	if diff := cmp.Diff(planned, rows); diff != "" || len(rows) != 2 || rows[history.LaneReused] < 40 || r.Incomplete != "" {
		t.Errorf("incomplete: %q; rows (-planned +recorded):\n%s", r.Incomplete, diff)
	}
	if trouble := strings.Join(troubles(r), "; "); (trouble == "context canceled") != interrupted || !interrupted && trouble != "" {
		t.Errorf("trouble: %q", trouble)
	}
}

// A load worker that is ready and does not answer is trouble, within a limit.
func TestALoadWorkerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		s.Load = []load.Lane{{Lane: history.LaneControl, Rate: 20}}
		got := c.one(t.Context(), s)
		trouble := strings.Join(troubles(c.recorded(s)), "; ")
		if got.outcome != verdict.Unknown || !strings.Contains(trouble, "start load hf-chaos-quiet: read clock: tried for 1m0s: ") {
			t.Errorf("got %+v, trouble: %s", got, trouble)
		}
	})
}

// curlLog answers every curl, and keeps the URLs.
type curlLog struct{ asked []string }

func (c *curlLog) exec(command []string) ([]byte, error) {
	c.asked = append(c.asked, command[len(command)-1])
	return []byte("ok"), nil
}
