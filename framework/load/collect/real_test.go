package collect

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/expect"
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

// startBackend runs a backend on loopback until the test ends, and returns its URL.
func startBackend(t *testing.T, name string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- backend.Run(ctx, backend.Options{Listen: address, Pod: name}, load.Servers()...) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the backend ended with %v", err)
		}
	})
	err = poll.Until(t.Context(), name+" to listen", time.Minute, func(context.Context) (bool, string, error) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil, "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	return "http://" + address
}

// roomy time-outs never pass, even on a busy machine.
var roomy = load.Timeouts{Connect: time.Minute, Response: time.Minute, Request: time.Minute}

// connectionsOf is how many connections each lane takes in turn.
const connectionsOf = 3

// realPlan has a lane of every kind, and leads to a target.
func realPlan(target string) load.Plan {
	plan := load.Plan{ID: "real", Lanes: load.EveryLane()}.To(target, expect.Answer{})
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		l.Rate, l.Connections, l.Timeouts = 20, connectionsOf, roomy
	}
	return plan
}

// play has a real worker send a plan until during returns, and returns the record.
func play(t *testing.T, plan load.Plan, during func(*Session)) recorded {
	t.Helper()
	sink, reopen := newRecord(t)
	s, err := Start(t.Context(), http.DefaultClient, []Worker{{URL: startWorker(t)}}, plan, sink)
	if err != nil {
		t.Fatal(err)
	}
	during(s)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if status := s.Statuses()[0]; status.Lanes[0].LagMax <= 0 || status.Lanes[0].LagP50 > status.Lanes[0].LagP99 {
		t.Errorf("lag: %+v", status.Lanes[0])
	}
	got := read(t, reopen())
	loadtest.CheckRows(t, got.rows, got.totals)
	return got
}

// TestLanesForReal sends on every lane, over real connections, from a real worker into a real record.
func TestLanesForReal(t *testing.T) {
	plan := realPlan(startBackend(t, "backend-0"))
	got := play(t, plan, func(s *Session) {
		err := poll.Until(t.Context(), "a pod to answer on every lane", time.Minute, func(ctx context.Context) (bool, string, error) {
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
	})
	checkConnections(t, got.rows)
}

// checkConnections checks that each lane uses connections as the table of lanes says.
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
	}
	for _, kind := range load.Lanes {
		most := connectionsOf // of multiplexed and held connections
		switch kind.Connections {
		case load.PerRequest:
			if slices.ContainsFunc(rows, func(r history.Request) bool { return r.Lane == kind.Name && r.Reused }) {
				t.Errorf("lane %s used a connection twice", kind.Name)
			}
			continue
		case load.Pooled:
			most = 25 // on a busy machine, net/http discards a connection that was returned to the pool too late
		case load.Multiplexed:
			most += 3 // as above
		}
		if n := len(used[kind.Name]); n < connectionsOf || n > most {
			t.Errorf("lane %s used %d connections, want %d and at most %d", kind.Name, n, connectionsOf, most)
		}
	}
	lanes := make(map[uint64]history.Lane)
	for lane := range used {
		for conn, begun := range used[lane] {
			if other, taken := lanes[conn]; begun != 1 || taken {
				t.Errorf("connection %d is new in %d rows of lane %s, and on lane %q", conn, begun, lane, other)
			}
			lanes[conn] = lane
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
	err = RunWorker(t.Context(), WorkerOptions{Name: "w", TokenSum: "x", Addr: taken.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}
