package load

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// startWorker runs a worker on loopback until the test ends.
func startWorker(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- RunWorker(ctx, WorkerOptions{Name: "load-0", Listener: l}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// TestLanesForReal sends on every lane, over real connections, from a real worker into a real record.
func TestLanesForReal(t *testing.T) {
	target := newClusterIP(t)
	target.startPod(t, "backend-0", serve.Drain)
	url := "http://" + target.Addr().String()
	worker := startWorker(t)
	sink, reopen := newRecord(t)
	plan := Plan{ID: "real", Duration: time.Second, Lanes: []Lane{
		{Lane: history.LaneFresh, Target: url, Rate: 20, Timeouts: roomy},
		{Lane: history.LaneReused, Target: url, Rate: 20, Connections: 4, Timeouts: roomy},
		{Lane: history.LaneStream, Target: url, Rate: 20, Connections: 3, Timeouts: roomy},
		{Lane: history.LaneH2C, Target: url, Rate: 20, Connections: 2, Timeouts: roomy},
		{Lane: history.LaneGRPC, Target: url, Rate: 20, Connections: 2, Timeouts: roomy},
		{Lane: history.LaneSocket, Target: url, Rate: 20, Connections: 1, Timeouts: roomy},
		{Lane: history.LaneControl, Rate: 20, Timeouts: roomy},
	}}
	s, err := Start(t.Context(), http.DefaultClient, worker, plan, sink)
	if err != nil {
		t.Fatal(err)
	}
	err = poll.Until(t.Context(), "a pod to answer on every lane", time.Minute, func(ctx context.Context) (bool, string, error) {
		answered, err := s.Answered(ctx)
		all := len(answered) == len(plan.Lanes)-1
		for lane, pods := range answered {
			all = all && lane != history.LaneControl && slices.Equal(pods, []string{"backend-0"})
		}
		return all, fmt.Sprint(answered), err
	})
	if err != nil {
		t.Fatal(err)
	}
	err = poll.Until(t.Context(), "the load to end", time.Minute, func(context.Context) (bool, string, error) {
		return s.Totals().Finished, "", s.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := read(t, reopen())
	checkRows(t, got.rows, got.totals)
	checkConnections(t, got.rows)
	if status := s.Status(); status.Lanes[0].LagMax <= 0 || status.Lanes[0].LagP50 > status.Lanes[0].LagP99 {
		t.Errorf("lag: %+v", status.Lanes[0])
	}
}

// checkConnections checks that each lane uses connections as documented.
func checkConnections(t *testing.T, rows []history.Request) {
	t.Helper()
	used := make(map[history.Lane]map[uint64]int)
	pods := map[history.Lane]string{history.LaneControl: "load-0"}
	for _, r := range rows {
		if used[r.Lane] == nil {
			used[r.Lane] = make(map[uint64]int)
		}
		if r.Outcome == history.Unsent { // on a very busy machine
			continue
		}
		if r.Outcome != history.OK || r.Status != 200 || r.Attempts != 1 || !strings.HasPrefix(r.Addr, "127.0.0.1:") {
			t.Errorf("%+v", r)
		}
		if pod := pods[r.Lane]; r.Pod != pod && (pod != "" || r.Pod != "backend-0") {
			t.Errorf("%s request %d was answered by %q", r.Lane, r.Seq, r.Pod)
		}
		if !r.Reused {
			used[r.Lane][r.Conn]++
		}
		if r.Lane == history.LaneFresh && r.Reused {
			t.Errorf("a fresh request on connection %d, which was used before", r.Conn)
		}
	}
	for lane, want := range map[history.Lane]int{history.LaneStream: 3, history.LaneSocket: 1, history.LaneGRPC: 2} {
		if n := len(used[lane]); n != want {
			t.Errorf("the %s lane used %d connections, want %d", lane, n, want)
		}
	}
	// On a busy machine, net/http discards a connection that was returned to the pool too late.
	if n := len(used[history.LaneReused]); n < 4 || n > 25 {
		t.Errorf("the reused lane used %d connections, want 4 and a few for slow answers", n)
	}
	if n := len(used[history.LaneH2C]); n < 2 || n > 5 {
		t.Errorf("the h2c lane used %d connections, want 2", n)
	}
	for lane := range used {
		for conn, begun := range used[lane] {
			if begun != 1 {
				t.Errorf("connection %d is new in %d rows", conn, begun)
			}
			for other := range used {
				if other != lane && used[other][conn] > 0 {
					t.Errorf("connection %d is new on lane %s and on %s", conn, lane, other)
				}
			}
		}
	}
}

// TestRunWorker checks that a worker serves its API, and ends without an error.
func TestRunWorker(t *testing.T) {
	url := startWorker(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get(headerWorker) == "" {
		t.Errorf("%s with headers %v", answer.Status, answer.Header)
	}
}

func TestRunWorkerCannotListen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	err = RunWorker(t.Context(), WorkerOptions{Name: "w", Addr: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}
