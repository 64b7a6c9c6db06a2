package loadtest_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// shop is an application that knows nothing of this project.
type shop struct{ served atomic.Int64 }

var _ workloads.Workload = &shop{}

func (*shop) Validate() error { return nil }

func (*shop) Objects(at workloads.Place) ([]workloads.Object, error) {
	return []workloads.Object{&appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: at.Namespace},
	}}, nil
}

func (*shop) Controllers() []workloads.Controller { return []workloads.Controller{{Name: "shop"}} }

func (*shop) Probes() []workloads.Probe {
	return []workloads.Probe{{Service: "shop", Port: 80, Path: "/cart", Expect: expect.Answer{Status: []int{http.StatusOK}}}}
}

// ServeHTTP is what runs in the application's pods: every tenth request fails.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/cart" || r.Header.Get("X-Holdfast-Id") != "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if s.served.Add(1)%10 == 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "your cart is empty")
}

// collectRows has a real worker send a plan to its end, and returns what is in the record.
func collectRows(t *testing.T, plan load.Plan) (rows []history.Request, totals []history.LoadTotals) {
	t.Helper()
	return collectInto(t, t.TempDir(), plan, collect.WorkerOptions{})
}

// collectInto has a worker with those options send the plan, and leaves the record in a folder.
func collectInto(t *testing.T, dir string, plan load.Plan, o collect.WorkerOptions) (rows []history.Request, totals []history.LoadTotals) {
	t.Helper()
	sink, err := history.Create(dir, history.Header{Scenario: "test/foreign"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := collect.Start(t.Context(), http.DefaultClient, []collect.Worker{{URL: startWorker(t, o)}}, plan, sink)
	if err != nil {
		t.Fatal(err)
	}
	err = poll.Until(t.Context(), "the load to end", time.Minute, func(context.Context) (bool, string, error) {
		return s.Totals().Finished, "", s.Err()
	})
	if err := errors.Join(err, s.Stop(t.Context()), sink.Close()); err != nil {
		t.Fatal(err)
	}
	run, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	for row, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, *row)
	}
	for _, e := range run.Events {
		if e.Load != nil {
			totals = append(totals, *e.Load)
		}
	}
	return rows, totals
}

// startWorker runs a worker until the test ends, and returns its URL.
func startWorker(t *testing.T, o collect.WorkerOptions) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o.Name, o.Listener = "load-0", l
	go func() { ended <- collect.RunWorker(ctx, o) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the worker ended with %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// The load of an application that is not the sample backend: its probe says what a good answer is, on fresh and reused connections.
func TestForeignWorkload(t *testing.T) {
	app := &shop{}
	server := httptest.NewServer(app)
	defer server.Close()
	probe := app.Probes()[0]
	limits := load.Timeouts{Connect: time.Minute, Response: time.Minute, Request: time.Minute}
	plan := load.Plan{ID: "shop", Duration: time.Second, Lanes: []load.Lane{
		{Lane: history.LaneFresh, Rate: 50, Timeouts: limits},
		{Lane: history.LaneReused, Rate: 50, Connections: 3, Timeouts: limits},
		{Lane: history.LaneControl, Rate: 10, Timeouts: limits},
	}}.To(server.URL+probe.Path, probe.Expect)
	rows, totals := collectRows(t, plan)
	loadtest.CheckRows(t, rows, totals)
	outcomes := make(map[history.Lane]map[history.Outcome]int)
	sent := 0
	for _, r := range rows {
		if outcomes[r.Lane] == nil {
			outcomes[r.Lane] = make(map[history.Outcome]int)
		}
		outcomes[r.Lane][r.Outcome]++
		if r.Lane == history.LaneControl || r.Outcome == history.Unsent { // unsent: on a very busy machine
			continue
		}
		sent++
		if r.Pod != "" || r.Conn == 0 {
			t.Errorf("%+v: want a connection, and no server", r)
		}
	}
	good, bad := 0, 0
	for _, lane := range []history.Lane{history.LaneFresh, history.LaneReused} {
		good, bad = good+outcomes[lane][history.OK], bad+outcomes[lane][history.BadStatus]
	}
	if good+bad != sent || bad != sent/10 || good == 0 || outcomes[history.LaneFresh][history.OK] == 0 || outcomes[history.LaneReused][history.OK] == 0 {
		t.Errorf("of %d requests %d are good and %d fail by their status, want every tenth: %v", sent, good, bad, outcomes)
	}
	if outcomes[history.LaneControl][history.OK] == 0 || outcomes[history.LaneControl][history.WrongBody] != 0 {
		t.Errorf("the control lane, which leads to the worker itself: %v", outcomes[history.LaneControl])
	}
}
