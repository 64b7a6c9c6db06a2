package instrument

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// A plan that several load workers share is the plan that one of them sends: in each row, in each number of each verdict, to the last
// request. The network and the time are in memory, so that nothing but the number of workers differs.

// answering is what a server does with a hit, which depends on the hit's number and on nothing else.
type answering func(k uint64) (after time.Duration, status int, err error)

// wellBehaved takes some milliseconds, and for one hit of a hundred some more.
func wellBehaved(k uint64) (time.Duration, int, error) {
	after := time.Duration(k*2654435761%7_000_000) * time.Nanosecond
	if k%100 == 37 {
		after += time.Duration(k%300) * time.Millisecond / 4
	}
	return after, http.StatusOK, nil
}

// misbehaving also resets, refuses and rejects.
func misbehaving(k uint64) (time.Duration, int, error) {
	after, _, _ := wellBehaved(k)
	switch {
	case k%97 == 5:
		return after, 0, syscall.ECONNRESET
	case k%101 == 7:
		return after, http.StatusServiceUnavailable, nil
	case k%103 == 9:
		return after, 0, syscall.ECONNREFUSED
	}
	return after, http.StatusOK, nil
}

// server answers as the sample backend does, with the pods of ht.Healthy.
func (a answering) server() http.RoundTripper {
	return loadtest.RoundTrip(func(r *http.Request) (*http.Response, error) {
		id := r.Header.Get(backend.HeaderID)
		k, err := strconv.ParseUint(id[strings.LastIndexByte(id, '/')+1:], 10, 64)
		if err != nil {
			return nil, err
		}
		after, status, err := a(k)
		<-time.After(after)
		if err != nil {
			return nil, &net.OpError{Op: "read", Err: os.NewSyscallError("read", err)}
		}
		answer := loadtest.Good(r)
		answer.StatusCode = status
		pod := fmt.Sprintf("backend-%d", 1+k%6)
		answer.Header.Set(backend.HeaderPod, pod)
		answer.Header.Set(backend.HeaderNode, fmt.Sprintf("w%d", 1+k%6))
		return answer, nil
	})
}

// pipes is a network in memory, as its server sees it.
type pipes struct {
	calls chan net.Conn
	gone  chan struct{} // closed when nobody listens any more
	close sync.Once
}

func newPipes() *pipes { return &pipes{calls: make(chan net.Conn), gone: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.gone:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close.Do(func() { close(p.gone) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.calls <- theirs:
		return ours, nil
	case <-p.gone:
		return nil, syscall.ECONNREFUSED
	}
}

// onePlan has workers send ht.Healthy's load of 30 s, and returns the record as that of ht.Healthy's drain.
func onePlan(t *testing.T, workers int, server answering) history.Run {
	t.Helper()
	dir := t.TempDir()
	sink, err := history.Create(dir, history.Header{Scenario: "test/one-plan"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	networks := map[string]*pipes{}
	var all []collect.Worker
	ended := make([]chan error, workers)
	for i := range workers {
		name := fmt.Sprintf("load-%d", i)
		listener := newPipes()
		networks[name+":80"] = listener
		ended[i] = make(chan error, 1)
		go func() {
			ended[i] <- collect.RunWorker(ctx, collect.WorkerOptions{
				Name: name, Listener: listener, Server: server.server(), Log: slog.New(slog.DiscardHandler),
			})
		}()
		all = append(all, collect.Worker{URL: "http://" + name})
		time.Sleep(time.Duration(i) * 123 * time.Millisecond) // their clocks differ
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(_ context.Context, _, address string) (net.Conn, error) {
		return networks[address].dial()
	}}}
	plan := load.Plan{ID: "one", Duration: ht.DrainedAt - ht.SteadyAt}
	for _, lane := range []history.Lane{history.LaneFresh, history.LaneReused} {
		plan.Lanes = append(plan.Lanes, load.Lane{Lane: lane, Target: "http://backend/", Rate: ht.Rate})
	}
	session, err := collect.Start(ctx, client, all, plan, sink)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(40 * time.Second)
	if err := session.Stop(ctx); err != nil {
		t.Errorf("stopped with %v", err)
	}
	client.CloseIdleConnections()
	cancel()
	for i, end := range ended {
		if err := <-end; err != nil {
			t.Errorf("load-%d ended with %v", i, err)
		}
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	run, err := history.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return asDrain(t, run)
}

// asDrain puts the load of a record into the record of ht.Healthy's drain, whose Steady begins when the load does.
func asDrain(t *testing.T, run history.Run) history.Run {
	t.Helper()
	loaded, err := ht.Of(run)
	if err != nil {
		t.Fatal(err)
	}
	b := ht.Healthy().WithoutTotals().DropRequests(func(history.Request) bool { return true })
	var shift history.Offset
	for _, e := range loaded.Events() {
		if e.Share != nil {
			shift = ht.SteadyAt - e.Share.Lanes[0].Start
		}
	}
	for _, e := range loaded.Events() {
		if e.Share != nil {
			told := *e.Share
			told.Lanes = slices.Clone(told.Lanes)
			for i := range told.Lanes {
				told.Lanes[i].Start += shift
			}
			b.Event(history.Event{T: e.T + shift, Share: &told})
		}
		if e.Clock != nil || e.Load != nil || e.Trouble != nil {
			e.T = max(0, e.T+shift)
			b.Event(e)
		}
	}
	for _, r := range loaded.Requests() {
		r.Due, r.Done = r.Due+shift, r.Done+shift
		if r.Outcome != history.Unsent {
			r.Sent += shift
		}
		b.Request(r)
	}
	return b.Run()
}

// promises are those about requests.
func promises() []invariant.Invariant {
	return []invariant.Invariant{invariant.NoFailedRequests{}, invariant.AnswersWithin{}, invariant.FailuresEndWithin{Service: ht.Service}}
}

func TestManyWorkersAreJudgedAsOne(t *testing.T) {
	for name, test := range map[string]struct {
		server answering
		want   verdict.Outcome
	}{
		"a server that behaves":  {wellBehaved, verdict.Held},
		"a server that does not": {misbehaving, verdict.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			var one []verdict.Verdict
			var rows map[string]history.Request
			for _, workers := range []int{1, 4, 7} {
				synctest.Test(t, func(t *testing.T) {
					run := onePlan(t, workers, test.server)
					got := judge.CheckAll(run, promises())
					hits := byHit(t, run)
					if one == nil {
						one, rows = got, hits
						return
					}
					for i, v := range got {
						if v.Outcome != one[i].Outcome || v.Seen != one[i].Seen {
							t.Errorf("%d workers: %s: %s\none worker: %s: %s", workers, v.Outcome, v.Seen, one[i].Outcome, one[i].Seen)
						}
						if diff := cmp.Diff(one[i].Numbers, v.Numbers); diff != "" {
							t.Errorf("%d workers, %s:\n%s", workers, promises()[i], diff)
						}
					}
					if diff := cmp.Diff(rows, hits); diff != "" {
						t.Errorf("%d workers have other rows:\n%.3000s", workers, diff)
					}
				})
			}
			if one[0].Outcome != test.want {
				t.Errorf("one worker: %s: %s, want %s", one[0].Outcome, one[0].Seen, test.want)
			}
		})
	}
}

// byHit are the rows of a record by lane and number, without what depends on the worker alone.
func byHit(t *testing.T, run history.Run) map[string]history.Request {
	t.Helper()
	all := map[string]history.Request{}
	for r, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprint(r.Lane, r.Seq)
		if _, twice := all[id]; twice {
			t.Errorf("hit %s has two rows", id)
		}
		row := *r
		row.Worker, row.Conn, row.Reused, row.Attempts = "", 0, false, 0
		for _, at := range []*history.Offset{&row.Due, &row.Sent, &row.Done} {
			*at = at.Round(time.Microsecond) // a schedule in nanoseconds begins at another fraction of one
		}
		all[id] = row
	}
	return all
}
