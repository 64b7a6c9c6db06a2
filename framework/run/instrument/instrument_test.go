// Package instrument measures load, record and judgement, on loopback and without a cluster. Its servers know what they did to
// each request, which goes the whole way that the requests of a scenario go. A busy machine makes requests late or lets them time out, which is
// logged; what it does not explain fails. The tests are brief, and `make instrument` measures for longer.
package instrument

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

var (
	outagesOfEach = flag.Int("outages", 2, "outages of each length")
	lossesFor     = flag.Duration("losses", time.Second, "how long load flows of which single requests are lost")
	soakOf        = flag.Int("soak", 500, "good requests")
)

// lanes have a connection for each request, and kept connections. Their requests alternate.
var lanes = []history.Lane{history.LaneFresh, history.LaneReused}

// server answers as the backend does, except where it was told to misbehave.
type server struct {
	url    string
	outage *atomic.Int64 // the number of the outage in force, from 1; 0: none is
	every  int           // one of so many requests is lost, at random; 0: none

	mu                     sync.Mutex
	requests, victim, lost int
	failed                 map[string][]int64 // the outages that reset each request, or 0 for one that was lost; a retry has the same ID
}

// What becomes of a request: its connection is reset, or closed without an answer, or there is never an answer.
const answered, byReset, byClose, bySilence = 0, 1, 2, 3

// fate decides what becomes of a request.
func (s *server) fate(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number := s.outage.Load(); number != 0 {
		s.failed[id] = append(s.failed[id], number)
		return byReset
	}
	if s.every == 0 {
		return answered
	}
	if s.requests%s.every == 0 {
		s.victim = s.requests + rand.IntN(s.every)
	}
	if s.requests++; s.requests-1 != s.victim {
		return answered
	}
	s.failed[id] = []int64{0}
	s.lost++
	return []int{byReset, byClose, bySilence}[s.lost%3]
}

// answer answers the requests of a connection. A connection that carries no request is never reset: the client may have opened it in reserve,
// and a request that it carries after an outage would fail for the outage, unnoticed by the server.
func (s *server) answer(ctx context.Context, c *net.TCPConn) {
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	defer func() { _ = c.Close() }()
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		id := r.Header.Get(backend.HeaderID)
		kind := s.fate(id)
		if kind == byReset {
			_ = c.SetLinger(0)
		}
		if kind == bySilence { // until the client gives up
			_, _ = io.Copy(io.Discard, c)
		}
		if kind != answered {
			return
		}
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nok %s\n", len(id)+4, id); err != nil || r.Close {
			return
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// rig is a real load worker, whose rows a real session collects into a real record, and the server that it sends to.
type rig struct {
	server  *server
	gap     time.Duration // between two requests of a lane
	dir     string
	writer  *history.Writer
	session *collect.Session
	halt    func() error // of the worker
}

// start sends so many requests a second on each lane, until stop or until the duration ends.
func start(t *testing.T, outage *atomic.Int64, every int, rate float64, duration time.Duration) *rig {
	targets, workers := listen(t), listen(t)
	s := &server{url: "http://" + targets.Addr().String() + "/", outage: outage, every: every, failed: map[string][]int64{}}
	r := &rig{server: s, dir: t.TempDir(), gap: time.Duration(float64(time.Second) / rate)}
	go func() {
		for c, err := targets.Accept(); err == nil; c, err = targets.Accept() {
			go s.answer(t.Context(), c.(*net.TCPConn))
		}
	}()
	promise, err := invariant.Encode(invariant.NoFailedRequests{})
	if err != nil {
		t.Fatal(err)
	}
	header := history.Header{Scenario: "instrument", Claim: "what is recorded is what happened", Promises: []history.Promise{promise}, Plan: &history.Plan{}}
	plan := load.Plan{ID: "instrument", Duration: duration, Lanes: []load.Lane{{Lane: history.LaneControl, Rate: 20}}}
	for _, lane := range lanes {
		plan.Lanes = append(plan.Lanes, load.Lane{Lane: lane, Target: r.server.url, Rate: rate})
		header.Plan.Lanes = append(header.Plan.Lanes, history.LanePlan{Lane: lane, Target: r.server.url, RatePerSecond: rate})
	}
	if r.writer, err = history.Create(r.dir, header); err != nil {
		t.Fatal(err)
	}
	work, halt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- collect.RunWorker(work, collect.WorkerOptions{Name: "instrument", Listener: workers, Log: slog.New(slog.DiscardHandler)})
	}()
	r.halt = sync.OnceValue(func() error { halt(); return <-ended })
	t.Cleanup(func() { _ = r.halt() })
	r.phases(t, history.Steady)
	r.session, err = collect.Start(t.Context(), http.DefaultClient, []collect.Worker{{URL: "http://" + workers.Addr().String()}}, plan, r.writer)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *rig) phases(t *testing.T, names ...history.PhaseName) {
	for _, name := range names {
		if err := r.writer.Append(history.Event{T: r.writer.Now(), Phase: &history.Phase{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
}

// counts are those of a record's rows.
type counts struct {
	rows, failed, tooSlow uint64
	uncertainty           time.Duration // of the worker's clock
}

func (c counts) String() string {
	return fmt.Sprintf("%d requests, %d failed, %d of them because the machine was too slow; clocks differ by at most %s", c.rows, c.failed, c.tooSlow, c.uncertainty)
}

// stop ends the load and reads the record: exactly those requests have failed rows that the server failed, and those that timed out, for the servers
// here are never so slow. each is called with each row that has a target, and with the outages that reset its request.
func (r *rig) stop(t *testing.T, each func(row *history.Request, outages []int64)) (run history.Run, n counts) {
	r.phases(t, history.Disturbed, history.Recovered, history.Drained)
	if err := errors.Join(r.session.Stop(t.Context()), r.halt(), r.writer.Close()); err != nil {
		t.Fatal(err)
	}
	run, err := history.Open(r.dir)
	if err != nil || run.Incomplete != "" {
		t.Fatal(err, run.Incomplete)
	}
	for _, e := range run.Events {
		if e.Clock != nil {
			n.uncertainty = max(n.uncertainty, e.Clock.Uncertainty)
		}
	}
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	unseen := maps.Clone(r.server.failed)
	for row, err := range run.Requests() {
		if err != nil {
			t.Fatal(err)
		}
		if row.Lane == history.LaneControl {
			continue
		}
		n.rows++
		id := fmt.Sprintf("%s/%s/%d", row.Worker, row.Lane, row.Seq)
		each(row, r.server.failed[id])
		if !row.Outcome.Failed() {
			continue
		}
		n.failed++
		if _, planted := unseen[id]; planted {
			delete(unseen, id)
		} else if row.Outcome == history.TimeoutConnect || row.Outcome == history.TimeoutResponse || row.Outcome == history.Stall {
			n.tooSlow++
		} else {
			t.Errorf("%s failed, and no server failed it: %s", id, row.Outcome)
		}
	}
	if len(unseen) > 0 {
		t.Errorf("%d requests that a server failed have no failed row: %v", len(unseen), unseen)
	}
	return run, n
}

const (
	// punctual is how long after it is due a request may be answered. One that is answered later may have reached the server after the outage.
	punctual = 2 * time.Millisecond
	// finest is the shortest outage that a request is certain to meet: a request that was sent during a shorter one may arrive when it is over.
	finest = 5 * time.Millisecond
)

func pass(t *testing.T, span time.Duration) {
	t.Helper()
	if err := poll.Pass(t.Context(), span); err != nil {
		t.Fatal(err)
	}
}

// lengths of the outages.
var lengths = []time.Duration{2 * time.Millisecond, finest, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}

// outage is when one was in force.
type outage struct {
	from, to time.Time
	planned  time.Duration
}

// Each outage of at least twice the gap between requests is seen if no request was late, and nothing else fails. Together, both lanes send 100, 200
// and 1,000 requests a second.
func TestInstrumentSeesOutages(t *testing.T) {
	var inForce atomic.Int64
	var rigs []*rig
	for _, rate := range []float64{50, 100, 500} {
		rigs = append(rigs, start(t, &inForce, 0, rate, 12*time.Hour))
	}
	pass(t, time.Second) // until there are kept connections
	var all []outage
	for range *outagesOfEach {
		for _, length := range lengths {
			pass(t, 20*time.Millisecond+rand.N(20*time.Millisecond)) // it begins at a random moment of the gap between requests
			o := outage{from: time.Now(), planned: length}
			inForce.Store(int64(len(all) + 1))
			if length > finest {
				pass(t, length-punctual)
			}
			for time.Since(o.from) < length { // a timer would be late
			}
			inForce.Store(0)
			o.to = time.Now()
			all = append(all, o)
		}
	}
	for _, r := range rigs {
		r.checkOutages(t, all)
	}
}

func (r *rig) checkOutages(t *testing.T, all []outage) {
	seen, late := map[int64]bool{}, []history.Offset{}
	_, n := r.stop(t, func(row *history.Request, outages []int64) {
		for _, number := range outages {
			seen[number] = seen[number] || row.Outcome.Failed()
		}
		if row.Outcome == history.Unsent || row.Done-row.Due > punctual {
			late = append(late, row.Due)
		}
	})
	isLate := func(o outage) bool {
		from, to := o.from.Sub(r.writer.Base())-n.uncertainty-r.gap-punctual, o.to.Sub(r.writer.Base())+n.uncertainty
		return slices.ContainsFunc(late, func(due history.Offset) bool { return due >= from && due <= to })
	}
	between := r.gap / time.Duration(len(lanes))
	var told []string
	for _, length := range lengths {
		caught, of, missedLate := 0, 0, 0
		for i, o := range all {
			number := int64(i + 1)
			if longer := o.to.Sub(o.from) > length+time.Millisecond; o.planned != length || longer && seen[number] {
				continue // a longer one counts if it was missed, since a shorter one would have been missed, too
			}
			of++
			switch {
			case seen[number]:
				caught++
			case isLate(o):
				missedLate++
			case length >= max(finest, 2*between):
				t.Errorf("an outage of %s was missed by a request every %s, though none was late", length, between)
			}
		}
		told = append(told, fmt.Sprintf("%d of %d of %s (missed while late: %d)", caught, of, length, missedLate))
	}
	t.Logf("a request every %s saw %s; %s", between, strings.Join(told, ", "), n)
}

// flow sends a thousand requests a second on each lane, of which one of every is lost.
func flow(t *testing.T, every int, duration time.Duration) (*rig, history.Run, counts) {
	r := start(t, new(atomic.Int64), every, 1000, duration)
	pass(t, duration)
	run, n := r.stop(t, func(*history.Request, []int64) {})
	return r, run, n
}

// Each request that a server lost has a failed row, and no other request has.
func TestInstrumentSeesLostRequests(t *testing.T) {
	r, _, n := flow(t, 1000, *lossesFor)
	t.Logf("%d were lost of %s", r.server.lost, n)
}

// A soak of good requests has a row for each, of which none failed, and no verdict: without a fault, evidence is missing.
func TestInstrumentSoak(t *testing.T) {
	r, run, n := flow(t, 0, time.Duration(*soakOf)*time.Second/1000/time.Duration(len(lanes)))
	var planned, sent, unsent uint64
	for _, e := range run.Events {
		if e.Load != nil && e.Load.Lane != history.LaneControl {
			planned, sent, unsent = planned+e.Load.Planned, sent+e.Load.Sent, unsent+e.Load.Unsent
		}
	}
	v, lag := judge.Judge(run)[0], r.session.Statuses()[0].Lanes[1]
	t.Logf("a soak of %s; %d were not sent; late by %s (p99) and %s (most); %s: %s", n, unsent, lag.LagP99, lag.LagMax, v.Outcome, v.Seen)
	if planned != sent+unsent || planned != n.rows || planned == 0 {
		t.Errorf("%d were planned and %d sent", planned, sent)
	}
	if v.Numbers["failed"] != float64(n.failed) || v.Outcome != "unknown" {
		t.Errorf("the verdict is %s, and counts %g that failed", v.Outcome, v.Numbers["failed"])
	}
}
