package collect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// collector collects the rows of one worker.
type collector struct {
	plan   load.Plan // with the worker's share
	remote *remote
	sink   Sink
	rows   *history.RequestWriter
	clock  *clock
	decode decoders

	// Owned by the collecting goroutine, and by Stop after that goroutine has ended.
	collected int // number of the last segment that is in the record
	recorded  map[history.Lane]uint64
	samples   int // samples of the worker's noise that are in the record

	mu     sync.Mutex
	status Status
	err    error
	// firstFailed is the first failed request that was collected; nil: there was none.
	firstFailed *history.Request
}

// decoders are rooms for rows, as many as segments may be unpacked at a time: of hundreds of workers, all at once would need gigabytes.
type decoders chan []history.Request

func newDecoders(n int) decoders {
	d := make(decoders, n)
	for range n {
		d <- nil
	}
	return d
}

// prepare compares the clocks for the first time, and gives the worker its share of the plan.
func (c *collector) prepare(ctx context.Context) error {
	worker, first, err := c.remote.estimate(ctx)
	if err != nil {
		return err
	}
	if c.rows, err = c.sink.Requests(worker); err != nil {
		return err
	}
	var told history.Clock
	c.clock, told = newClock(worker, first, c.sink.Now())
	if err := c.append(history.Event{Clock: &told}); err != nil {
		return err
	}
	plan, err := json.Marshal(c.plan)
	if err != nil {
		return err
	}
	return c.remote.ask(ctx, http.MethodPut, "/plan", plan, &c.status)
}

// begin tells the worker when to begin, on the run's clock.
func (c *collector) begin(ctx context.Context, at history.Offset) error {
	share := &history.LoadShare{Worker: c.clock.worker, Share: c.plan.Share, Lanes: c.plan.Starts(at)}
	if err := c.append(history.Event{Share: share}); err != nil {
		return err
	}
	return c.updateStatus(ctx, http.MethodPost, "/start", at)
}

func (c *collector) append(e history.Event) error {
	e.T = c.sink.Now()
	return c.sink.Append(e)
}

// query names the plan, and a moment on the worker's clock.
func (c *collector) query(at history.Offset) string {
	return planQuery(c.plan.ID) + "&at=" + url.QueryEscape((at - c.clock.offset).String())
}

// updateStatus makes a call about a moment, and stores the status that it returns.
func (c *collector) updateStatus(ctx context.Context, method, path string, at history.Offset) error {
	var status Status
	if err := c.remote.ask(ctx, method, path+c.query(at), nil, &status); err != nil {
		return err
	}
	c.set(status)
	return nil
}

func (c *collector) set(status Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// collect collects all that is new, again and again, until the context ends or the worker is lost.
func (c *collector) collect(ctx context.Context, every history.Offset) {
	for {
		if err := c.collectAll(ctx); err != nil && ctx.Err() == nil {
			c.fail(err)
			return
		}
		if poll.Pass(ctx, every) != nil {
			return
		}
	}
}

// fail keeps the first error and writes it into the record, because evidence is missing from now on.
func (c *collector) fail(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = fmt.Errorf("collect the load of %s: %w", c.name(), err)
	}
	what := c.err.Error()
	c.mu.Unlock()
	if first {
		_ = c.append(history.Event{Trouble: &history.Trouble{What: what}}) // if it cannot be written, the record is incomplete anyway
	}
}

// name is that of the worker and of its share, as far as they are known.
func (c *collector) name() string {
	name := c.remote.base
	if c.clock != nil {
		name = c.clock.worker
	}
	return fmt.Sprintf("%s (load worker %s)", name, c.plan.Share)
}

func (c *collector) failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *collector) lastStatus() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// collectAll records the worker's status, noise and closed segments, and how its clock runs.
func (c *collector) collectAll(ctx context.Context) error {
	for {
		report, err := c.ask(ctx)
		if err != nil {
			return err
		}
		for _, sample := range report.Noise {
			sample.At += c.clock.offset
			sample.Since += c.clock.offset
			if err := c.sink.Append(sample.Event()); err != nil {
				return err
			}
			c.samples++
		}
		for _, segment := range report.Segments {
			if err := c.collectSegment(ctx, segment); err != nil {
				return err
			}
		}
		if len(report.Segments) == 0 && len(report.Noise) < maxListed {
			return nil
		}
	}
}

// ask tells the worker what is stored, and asks what is new. The answer also tells the worker's clock.
func (c *collector) ask(ctx context.Context) (report Report, err error) {
	query := planQuery(c.plan.ID) + "&stored=" + strconv.Itoa(c.collected) + "&noise=" + strconv.Itoa(c.samples)
	asked := c.sink.Now()
	if err := c.remote.ask(ctx, http.MethodPost, "/report"+query, nil, &report); err != nil {
		return report, err
	}
	now := c.sink.Now()
	c.clock.take(readAt(asked, now, report.Now))
	c.set(report.Status)
	if !c.clock.due(now) {
		return report, nil
	}
	told := c.clock.compare(now)
	return report, c.append(history.Event{Clock: &told})
}

// collectSegment records a segment's rows. The next report tells the worker to forget them.
func (c *collector) collectSegment(ctx context.Context, segment Segment) error {
	if segment.N != c.collected+1 {
		return fmt.Errorf("segment %d comes after %d: rows are lost", segment.N, c.collected)
	}
	packed, err := c.remote.segment(ctx, c.plan.ID, segment.N)
	if err != nil {
		return err
	}
	room := <-c.decode
	defer func() { c.decode <- room[:0] }()
	rows, err := rowsIn(packed, segment, room)
	if err != nil {
		return err
	}
	room = rows
	if err := c.record(rows); err != nil {
		return err
	}
	c.collected = segment.N
	return nil
}

// record writes rows with their times on the run's clock.
func (c *collector) record(rows []history.Request) error {
	servers, _ := c.sink.(Servers)
	for i := range rows {
		r := &rows[i]
		r.Due += c.clock.offset
		r.Done += c.clock.offset
		if r.Outcome != history.Unsent {
			r.Sent += c.clock.offset
		}
		c.recorded[r.Lane]++
		if servers != nil && r.Pod == "" {
			name(r, servers)
		}
		if r.Outcome.Failed() && r.Lane != history.LaneControl {
			c.remember(*r)
		}
	}
	if err := c.rows.Append(rows...); err != nil {
		return err
	}
	if (c.collected+1)%rollEvery == 0 {
		return c.rows.Roll()
	}
	return nil
}

// remember keeps the first failed request.
func (c *collector) remember(r history.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firstFailed == nil {
		c.firstFailed = &r
	}
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

// stop ends the worker's load at a moment, collects the remaining rows, and completes the record with the worker's clock and its totals of
// each lane. The worker ends then. An error means that rows are missing, and is in the record.
func (c *collector) stop(ctx context.Context, at history.Offset) {
	if c.failed() != nil {
		return
	}
	if err := c.drain(ctx, at); err != nil {
		c.fail(err)
	}
}

func (c *collector) drain(ctx context.Context, at history.Offset) error {
	for {
		if err := c.updateStatus(ctx, http.MethodPost, "/stop", at); err != nil {
			return err
		}
		if c.lastStatus().Finished {
			break
		}
		if err := poll.Pass(ctx, stopEvery); err != nil {
			return fmt.Errorf("wait for the last requests: %w", err)
		}
	}
	if err := c.collectAll(ctx); err != nil {
		return err
	}
	_, last, err := c.remote.estimate(ctx)
	if err != nil {
		return err
	}
	c.clock.take(last)
	told := c.clock.compare(c.sink.Now())
	if err := c.append(history.Event{Clock: &told}); err != nil {
		return err
	}
	if err := c.total(); err != nil {
		return err
	}
	c.release(ctx)
	return nil
}

// total records the worker's counts and compares them with the rows.
func (c *collector) total() error {
	var errs []error
	for _, l := range c.lastStatus().Lanes {
		totals := &history.LoadTotals{
			Worker: c.clock.worker, Lane: l.Lane, Planned: l.Planned, Sent: l.Sent, Unsent: l.Unsent,
		}
		errs = append(errs, c.append(history.Event{Load: totals}))
		if rows := c.recorded[l.Lane]; l.Planned != l.Sent+l.Unsent || l.Planned != rows {
			errs = append(errs, fmt.Errorf("lane %s: planned %d, sent %d, unsent %d, and %d rows",
				l.Lane, l.Planned, l.Sent, l.Unsent, rows))
		}
	}
	return errors.Join(errs...)
}

// releaseTries is how often a worker is told that it may end. One that does not hear it ends with its pod.
const releaseTries = 3

// release lets the worker end. All of its rows are in the record, so nothing depends on whether it hears it, or is gone already.
func (c *collector) release(ctx context.Context) {
	for range releaseTries {
		_, err := c.remote.call(ctx, http.MethodPost, "/done"+planQuery(c.plan.ID), nil)
		if err == nil || errors.Is(err, ErrWorkerGone) || poll.Pass(ctx, stopEvery) != nil {
			return
		}
	}
}
