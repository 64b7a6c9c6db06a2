package collect

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

const (
	// startLimit bounds the first calls to the workers, whose pods are ready by then.
	startLimit = time.Minute
	// collectEvery is how often the rows of a worker are fetched: often enough for a progress line. Each time takes several requests
	// through the API server. Of many workers, all together are asked maxAsksPerSecond times a second.
	collectEvery     = 2 * time.Second
	maxAsksPerSecond = 50
	// stopEvery is how often a worker is asked whether its last requests have ended.
	stopEvery = 100 * time.Millisecond
	// rollEvery is how many segments, of two seconds each, go into a file of the record.
	rollEvery = 5
	// noticeLeast and noticeEach are how long before a moment the workers are told of it, at least, and for each of them. A call takes
	// some milliseconds, and maxCalls are made at a time.
	noticeLeast = 300 * time.Millisecond
	noticeEach  = 10 * time.Millisecond
	maxCalls    = 16
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

// Session is a running load of one or several workers, as the harness sees it.
type Session struct {
	plan   load.Plan
	sink   Sink
	all    []*collector
	cancel context.CancelFunc
	done   sync.WaitGroup // of the collecting goroutines
	ending sync.Once
	err    error // of Stop
}

// Totals are a session's counts so far, over all workers, and over all lanes except the control lane.
type Totals struct {
	Planned, Sent, Unsent, Failed, Masked uint64
	// Silent is how long ago the worker that has been silent for the longest time last answered.
	Silent time.Duration
	// Finished: the load of all workers has ended. Yielded and Untended are why that of one of them has; see Status.
	Finished, Yielded, Untended bool
}

// Start divides a plan among workers, makes all begin at the same moment, and collects their rows into the sink until Stop, with their
// times on the run's clock. It returns when the load flows. The client may lead through an API server that is away for any time: the
// workers keep uncollected rows. When the context ends, collecting ends; Stop still gets the rest. A worker that is lost stays lost:
// Err says so, and the other workers go on.
func Start(ctx context.Context, client *http.Client, workers []Worker, plan load.Plan, sink Sink) (*Session, error) {
	s := &Session{plan: plan, sink: sink}
	decode := newDecoders(runtime.GOMAXPROCS(0))
	for i, w := range workers {
		part := plan
		part.Share = history.Share{Index: i, Workers: len(workers)}
		s.all = append(s.all, &collector{
			plan: part, remote: newRemote(client, w, sink.Now), sink: sink, decode: decode, recorded: make(map[history.Lane]uint64),
		})
	}
	if err := s.begin(ctx); err != nil {
		return nil, fmt.Errorf("start load %s: %w", plan.ID, err)
	}
	ctx, s.cancel = context.WithCancel(ctx)
	every := max(collectEvery, time.Duration(len(workers))*time.Second/maxAsksPerSecond)
	for _, c := range s.all {
		s.done.Go(func() { c.collect(ctx, every) })
	}
	if plan.Yields && len(workers) > 1 {
		s.done.Go(func() { s.yield(ctx) })
	}
	return s, nil
}

// yield ends the load of all workers once a server has told one of them that there are too many requests.
func (s *Session) yield(ctx context.Context) {
	for poll.Pass(ctx, collectEvery) == nil {
		if t := s.Totals(); t.Finished {
			return
		} else if t.Yielded {
			s.abandon(ctx)
			return
		}
	}
}

func (s *Session) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if len(s.all) == 0 {
		return errors.New("there is no load worker")
	}
	for _, c := range s.all {
		if err := c.plan.Validate(); err != nil {
			return err
		}
	}
	if err := s.each(ctx, func(ctx context.Context, c *collector) error { return c.prepare(ctx) }); err != nil {
		return err
	}
	at := s.soon()
	if err := s.each(ctx, func(ctx context.Context, c *collector) error { return c.begin(ctx, at) }); err != nil {
		s.abandon(ctx)
		return err
	}
	return poll.Pass(ctx, at-s.sink.Now())
}

// soon is a moment of which all workers can be told before it comes.
func (s *Session) soon() history.Offset {
	return s.sink.Now() + noticeLeast + time.Duration(len(s.all))*noticeEach
}

// each calls something for all workers, some at a time, and returns the first error, with the worker's name.
func (s *Session) each(ctx context.Context, call func(context.Context, *collector) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(maxCalls)
	for _, c := range s.all {
		calls.Go(func() error {
			err := call(ctx, c)
			if err != nil && len(s.all) > 1 {
				err = fmt.Errorf("%s: %w", c.name(), err)
			}
			return err
		})
	}
	return calls.Wait()
}

// abandon ends the load of all workers before its time: because not all could be told to begin, or because a server wants fewer requests. It may
// fail: they end by themselves.
func (s *Session) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callLimit) // the other may have used up the time
	defer cancel()
	at := s.sink.Now()
	var calls sync.WaitGroup
	for _, c := range s.all {
		calls.Go(func() { _, _ = c.remote.call(ctx, http.MethodPost, "/stop"+c.query(at), nil) })
	}
	calls.Wait()
}

// Totals returns the counts that the workers last reported.
func (s *Session) Totals() Totals {
	t := Totals{Finished: true}
	for _, status := range s.Statuses() {
		t.Finished = t.Finished && status.Finished
		t.Yielded, t.Untended = t.Yielded || status.Yielded, t.Untended || status.Untended
		for _, l := range status.Lanes {
			if l.Lane == history.LaneControl {
				continue
			}
			t.Planned += l.Planned
			t.Sent += l.Sent
			t.Unsent += l.Unsent
			t.Failed += l.Failed
			t.Masked += l.Masked
		}
	}
	for _, c := range s.all {
		t.Silent = max(t.Silent, s.sink.Now()-history.Offset(c.remote.lastAnswer.Load()))
	}
	return t
}

// Statuses returns the last reported status of each worker.
func (s *Session) Statuses() (all []Status) {
	for _, c := range s.all {
		all = append(all, c.lastStatus())
	}
	return all
}

// Answered asks the workers which pods gave a good answer on each lane, except the control lane, within the last second. Workers that are
// lost are not asked.
func (s *Session) Answered(ctx context.Context) (map[history.Lane][]string, error) {
	var mu sync.Mutex
	answered := make(map[history.Lane][]string)
	err := s.each(ctx, func(ctx context.Context, c *collector) error {
		var status Status
		if c.failed() != nil {
			return nil
		}
		err := c.remote.ask(ctx, http.MethodGet, "/status"+planQuery(c.plan.ID), nil, &status)
		if errors.Is(err, ErrWorkerGone) { // collecting finds the same
			return nil
		}
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, l := range status.Lanes {
			if l.Lane != history.LaneControl {
				answered[l.Lane] = append(answered[l.Lane], s.named(l.Answered)...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask load %s which pods answer: %w", s.plan.ID, err)
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
	var first *history.Request
	for _, c := range s.all {
		c.mu.Lock()
		if r := c.firstFailed; r != nil && (first == nil || r.Sent < first.Sent) {
			first = r
		}
		c.mu.Unlock()
	}
	if first == nil {
		return history.Request{}, false
	}
	return *first, true
}

// Err returns why collecting ended early: workers are gone, or the record cannot be written.
func (s *Session) Err() error {
	var errs []error
	for _, c := range s.all {
		errs = append(errs, c.failed())
	}
	return errors.Join(errs...)
}

// Stop ends the load of all workers at the same moment, collects the remaining rows, and completes the record with the workers' clocks and
// their totals of each lane. It returns an error, and leaves a Trouble in the record, unless every hit of the plan has its row there.
// Calling it again returns the same error.
func (s *Session) Stop(ctx context.Context) error {
	s.ending.Do(func() {
		s.cancel()
		s.done.Wait()
		at := s.soon()
		var ends sync.WaitGroup
		for _, c := range s.all { // all at once: one that is lost must not keep the others from hearing of it
			ends.Go(func() { c.stop(ctx, at) })
		}
		ends.Wait()
		s.err = s.Err()
	})
	return s.err
}

func newRemote(client *http.Client, w Worker, now func() history.Offset) *remote {
	return &remote{client: client, base: strings.TrimSuffix(w.URL, "/"), token: w.Token, gone: w.Gone, now: now}
}
