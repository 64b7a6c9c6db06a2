package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/noise"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

const (
	// startLimit bounds the first calls to a worker, whose pod is ready by then.
	startLimit = time.Minute
	// collectEvery is how often rows are fetched: often enough for a progress line. Each time takes several requests through the
	// API server.
	collectEvery = 2 * time.Second
	// stopEvery is how often a worker is asked whether its last requests have ended.
	stopEvery = 100 * time.Millisecond
	// rollEvery is how many segments, of two seconds each, go into a file of the record.
	rollEvery = 5
)

// Sink takes what a session collects; *history.Writer is one.
type Sink interface {
	Now() history.Offset
	Append(history.Event) error
	Requests(worker string) (*history.RequestWriter, error)
}

// Servers names the pods behind addresses. A Sink that is one names the servers that do not say themselves which pod they are.
type Servers interface {
	// Named is the pod that had an IP address at a moment, and its node; empty: it was no pod's.
	Named(ip string, at history.Offset) (pod, node string)
}

// Session is a running load, as the harness sees it.
type Session struct {
	plan   load.Plan
	remote *remote
	sink   Sink
	rows   *history.RequestWriter
	clock  history.Clock

	cancel context.CancelFunc
	done   chan struct{} // closed when collecting has ended

	// Owned by the collecting goroutine, and by Stop after that goroutine has ended.
	collected int // number of the last segment that is in the record
	dropped   int // number of the last segment that the worker was told to forget
	recorded  map[history.Lane]uint64
	samples   int // samples of the worker's noise that are in the record

	mu     sync.Mutex
	status Status
	err    error
	// firstFailed is the first failed request that was collected; nil: there was none.
	firstFailed *history.Request
	ending      sync.Once
}

// Totals are a session's counts so far, over all lanes except the control lane.
type Totals struct {
	Planned, Sent, Unsent, Failed, Masked uint64
	// Silent is how long ago the worker last answered.
	Silent time.Duration
	// Finished: the load has ended.
	Finished bool
}

// Start makes the worker at baseURL begin the plan, and collects its rows into the sink until Stop, with their times on the
// run's clock. The client may lead through an API server that is away for any time: the worker keeps uncollected rows. When the
// context ends, collecting ends; Stop still gets the rest.
func Start(ctx context.Context, client *http.Client, baseURL string, plan load.Plan, sink Sink) (*Session, error) {
	s := &Session{
		plan:     plan,
		remote:   &remote{client: client, base: strings.TrimSuffix(baseURL, "/"), now: sink.Now},
		sink:     sink,
		done:     make(chan struct{}),
		recorded: make(map[history.Lane]uint64),
	}
	if err := s.begin(ctx); err != nil {
		return nil, fmt.Errorf("start load %s: %w", plan.ID, err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	go s.collect(ctx)
	return s, nil
}

func (s *Session) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.plan.Validate(); err != nil {
		return err
	}
	plan, err := json.Marshal(s.plan)
	if err != nil {
		return err
	}
	if s.clock, err = s.remote.estimate(ctx); err != nil {
		return err
	}
	if s.rows, err = s.sink.Requests(s.clock.Worker); err != nil {
		return err
	}
	if err := s.append(history.Event{Clock: &s.clock}); err != nil {
		return err
	}
	return s.remote.ask(ctx, http.MethodPut, "/plan", plan, &s.status)
}

func (s *Session) append(e history.Event) error {
	e.T = s.sink.Now()
	return s.sink.Append(e)
}

// Totals returns the counts that the worker last reported.
func (s *Session) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := Totals{Finished: s.status.Finished, Silent: s.sink.Now() - history.Offset(s.remote.lastAnswer.Load())}
	for _, l := range s.status.Lanes {
		if l.Lane == history.LaneControl {
			continue
		}
		t.Planned += l.Planned
		t.Sent += l.Sent
		t.Unsent += l.Unsent
		t.Failed += l.Failed
		t.Masked += l.Masked
	}
	return t
}

// Status returns the worker's last reported status.
func (s *Session) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.status
}

// Answered asks the worker which pods gave a good answer on each lane, except the control lane, within the last second.
func (s *Session) Answered(ctx context.Context) (map[history.Lane][]string, error) {
	var status Status
	if err := s.remote.ask(ctx, http.MethodGet, "/status"+planQuery(s.plan.ID), nil, &status); err != nil {
		return nil, fmt.Errorf("ask load %s which pods answer: %w", s.plan.ID, err)
	}
	answered := make(map[history.Lane][]string)
	for _, l := range status.Lanes {
		if l.Lane != history.LaneControl {
			answered[l.Lane] = s.named(l.Answered)
		}
	}
	return answered, nil
}

// named replaces the addresses among pods by the names of the pods that have them. An address of which nothing is known is left out.
func (s *Session) named(pods []string) []string {
	servers, known := s.sink.(Servers)
	if !known {
		return pods
	}
	var names []string
	for _, pod := range pods {
		if ip, _, err := net.SplitHostPort(pod); err == nil {
			pod, _ = servers.Named(ip, s.sink.Now())
		}
		if pod != "" {
			names = append(names, pod)
		}
	}
	return names
}

// FirstFailure is the first failed request that was collected, not counting those of the control lane.
func (s *Session) FirstFailure() (history.Request, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstFailed == nil {
		return history.Request{}, false
	}
	return *s.firstFailed, true
}

// remember keeps the first failed request.
func (s *Session) remember(r history.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.firstFailed == nil {
		s.firstFailed = &r
	}
}

// Err returns why collecting ended early: the worker is gone, or the record cannot be written.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// collect collects all that is new every collectEvery.
func (s *Session) collect(ctx context.Context) {
	defer close(s.done)
	for {
		if err := s.collectAll(ctx); err != nil && ctx.Err() == nil {
			s.fail(err)
			return
		}
		if poll.Pass(ctx, collectEvery) != nil {
			return
		}
	}
}

// fail keeps the first error and writes it into the record, because evidence is missing from now on.
func (s *Session) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = fmt.Errorf("collect load %s: %w", s.plan.ID, err)
	}
	what := s.err.Error()
	s.mu.Unlock()
	if first {
		_ = s.append(history.Event{Trouble: &history.Trouble{What: what}}) // if it cannot be written, the record is incomplete anyway
	}
}

// collectAll records the worker's status, noise and closed segments.
func (s *Session) collectAll(ctx context.Context) error {
	if err := s.updateStatus(ctx, http.MethodGet, "/status"); err != nil {
		return err
	}
	if err := s.collectNoise(ctx); err != nil {
		return err
	}
	for {
		var list []Segment
		path := "/segments" + planQuery(s.plan.ID) + "&after=" + strconv.Itoa(s.dropped)
		if err := s.remote.ask(ctx, http.MethodGet, path, nil, &list); err != nil {
			return err
		}
		if len(list) == 0 {
			return nil
		}
		for _, segment := range list {
			if err := s.collectSegment(ctx, segment); err != nil {
				return err
			}
		}
	}
}

// collectNoise records the worker's new noise samples, on the run's clock.
func (s *Session) collectNoise(ctx context.Context) error {
	for samples := make([]noise.Sample, maxListed); len(samples) == maxListed; {
		samples = nil
		path := "/noise" + planQuery(s.plan.ID) + "&after=" + strconv.Itoa(s.samples)
		if err := s.remote.ask(ctx, http.MethodGet, path, nil, &samples); err != nil {
			return err
		}
		for _, sample := range samples {
			sample.At += s.clock.Offset
			sample.Since += s.clock.Offset
			if err := s.sink.Append(sample.Event()); err != nil {
				return err
			}
			s.samples++
		}
	}
	return nil
}

// updateStatus calls the worker, and stores the status it returns.
func (s *Session) updateStatus(ctx context.Context, method, path string) error {
	var status Status
	if err := s.remote.ask(ctx, method, path+planQuery(s.plan.ID), nil, &status); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = status
	return nil
}

// collectSegment records a segment's rows, unless it did so before, and then tells the worker to forget them.
func (s *Session) collectSegment(ctx context.Context, segment Segment) error {
	if segment.N > s.collected {
		if segment.N != s.collected+1 {
			return fmt.Errorf("segment %d comes after %d: rows are lost", segment.N, s.collected)
		}
		rows, err := s.remote.rows(ctx, s.plan.ID, segment)
		if err != nil {
			return err
		}
		if err := s.record(rows); err != nil {
			return err
		}
		s.collected = segment.N
	}
	path := "/segments/" + strconv.Itoa(segment.N) + planQuery(s.plan.ID)
	if _, err := s.remote.retry(ctx, http.MethodDelete, path, nil); err != nil {
		return err
	}
	s.dropped = segment.N
	return nil
}

// record writes rows with their times on the run's clock.
func (s *Session) record(rows []history.Request) error {
	servers, _ := s.sink.(Servers)
	for i := range rows {
		r := &rows[i]
		r.Due += s.clock.Offset
		r.Done += s.clock.Offset
		if r.Outcome != history.Unsent {
			r.Sent += s.clock.Offset
		}
		s.recorded[r.Lane]++
		if servers != nil && r.Pod == "" {
			name(r, servers)
		}
		if r.Outcome.Failed() && r.Lane != history.LaneControl {
			s.remember(*r)
		}
	}
	if err := s.rows.Append(rows...); err != nil {
		return err
	}
	if (s.collected+1)%rollEvery == 0 {
		return s.rows.Roll()
	}
	return nil
}

// name fills in the pod behind a row's connection. The connection tells the server of a request that failed as well: on a connection
// that was open before, it is the server that should have answered.
func name(r *history.Request, servers Servers) {
	ip, _, err := net.SplitHostPort(r.Addr)
	if err != nil {
		return
	}
	r.Pod, r.Node = servers.Named(ip, r.Sent)
	r.Inferred = r.Pod != "" && r.Outcome.Failed() && r.Reused
}

// Stop ends the load, collects the remaining rows, and completes the record with the uncertainty of the worker's clock and the
// worker's totals of each lane. It returns an error, and leaves a Trouble in the record, unless every planned request has its
// row there. Calling it again returns the same error.
func (s *Session) Stop(ctx context.Context) error {
	s.ending.Do(func() {
		s.cancel()
		<-s.done
		if s.Err() != nil {
			return
		}
		if err := s.drain(ctx); err != nil {
			s.fail(err)
		}
	})
	return s.Err()
}

func (s *Session) drain(ctx context.Context) error {
	for {
		if err := s.updateStatus(ctx, http.MethodPost, "/stop"); err != nil {
			return err
		}
		if s.Status().Finished {
			break
		}
		if err := poll.Pass(ctx, stopEvery); err != nil {
			return fmt.Errorf("wait for the last requests: %w", err)
		}
	}
	if err := s.collectAll(ctx); err != nil {
		return err
	}
	now, err := s.remote.estimate(ctx)
	if err != nil {
		return err
	}
	clock := combine(s.clock, now)
	if err := s.append(history.Event{Clock: &clock}); err != nil {
		return err
	}
	return s.total()
}

// total records the worker's counts and compares them with the rows.
func (s *Session) total() error {
	var errs []error
	for _, l := range s.Status().Lanes {
		totals := &history.LoadTotals{
			Worker: s.clock.Worker, Lane: l.Lane, Planned: l.Planned, Sent: l.Sent, Unsent: l.Unsent,
		}
		errs = append(errs, s.append(history.Event{Load: totals}))
		if rows := s.recorded[l.Lane]; l.Planned != l.Sent+l.Unsent || l.Planned != rows {
			errs = append(errs, fmt.Errorf("lane %s: planned %d, sent %d, unsent %d, and %d rows",
				l.Lane, l.Planned, l.Sent, l.Unsent, rows))
		}
	}
	return errors.Join(errs...)
}
