package collect

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// DefaultAddr is the address that a worker listens on.
const DefaultAddr = ":8080"

// WorkerOptions configure a worker.
type WorkerOptions struct {
	// Name is the worker's name in every row: the name of its pod.
	Name string
	// Listener is what it serves on; nil: it listens on Addr, default DefaultAddr.
	Listener net.Listener
	Addr     string
	// TokenSum is that of the token that each call carries; see TokenSum. Empty: none needs to, which only a given Listener allows.
	TokenSum string
	// MaxRows is how many uncollected rows it may hold in memory; zero: load.DefaultMaxRows.
	MaxRows int
	// Spill is where uncollected rows go that memory has no room for; the zero value: nowhere.
	Spill Spill
	// Flows tells which pod a connection leads to; nil: answers name their servers.
	Flows load.Flows
	// Secrets is the folder where the kubelet mounts the Secrets that headers come from.
	Secrets string
	// Spin lets the worker take its own processor time away now and then: a mutant of the harness.
	Spin bool
	Log  *slog.Logger // nil: slog.Default()
	// Server gets all requests in place of the lanes' connections; for tests without a network.
	Server http.RoundTripper
}

// RunWorker serves until all rows were collected, or until the context ends. In the second case it stops the load, and returns an error if
// there were rows that had not been collected, which are lost.
func RunWorker(ctx context.Context, o WorkerOptions) error {
	w, err := newWorker(ctx, o)
	if err != nil {
		return fmt.Errorf("load worker: %w", err)
	}
	l := o.Listener
	if l == nil {
		var config net.ListenConfig
		if l, err = config.Listen(ctx, "tcp", cmp.Or(o.Addr, DefaultAddr)); err != nil {
			return fmt.Errorf("load worker: %w", err)
		}
	}
	if o.Spin {
		go spin(ctx)
	}
	w.log.Info("load worker listens", "addr", l.Addr().String(), "worker", w.name)
	if err := w.serve(ctx, l); err != nil {
		return fmt.Errorf("load worker: %w", err)
	}
	return w.end()
}

// goodbye is how long the last answer may take, after which the worker ends.
const goodbye = 5 * time.Second

// serve serves the API until it is told that all is collected, or until the context ends.
func (w *worker) serve(ctx context.Context, l net.Listener) error {
	s := newServer(w.api())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	var err error
	select {
	case err = <-served:
		return err
	case <-ctx.Done():
		err = s.Close()
	case <-w.collected:
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
		defer cancel()
		if s.Shutdown(last) != nil { // a caller that keeps its connection open must not keep the worker
			err = s.Close()
		}
	}
	if why := <-served; !errors.Is(why, http.ErrServerClosed) {
		return why
	}
	return err
}

// worker is the state behind the API.
type worker struct {
	ctx       context.Context // the process's context, used for its values
	name      string
	instance  string
	sum       string                // of the token
	clock     func() history.Offset // the time since the worker began, on the monotonic clock
	control   string
	maxRows   int
	spill     Spill
	flows     load.Flows
	secrets   string
	log       *slog.Logger
	server    http.RoundTripper // tests without a network replace the lanes' connections
	collected chan struct{}     // closed when all rows are stored elsewhere
	leave     sync.Once

	mu      sync.Mutex
	current *playing
}

func newWorker(ctx context.Context, o WorkerOptions) (*worker, error) {
	if o.Name == "" {
		return nil, errors.New("no name")
	}
	if err := o.Spill.validate(); err != nil {
		return nil, err
	}
	if o.TokenSum == "" && o.Listener == nil {
		return nil, errors.New("no sum of a token: without one, each process of the network could have it send requests")
	}
	control := "http://control/" // which nobody connects to where Server answers
	if o.Server == nil {
		var err error
		if control, err = serveControl(ctx, o.Name); err != nil {
			return nil, err
		}
	}
	return &worker{
		ctx: ctx, name: o.Name, instance: rand.Text(), sum: o.TokenSum, clock: clockFrom(time.Now()), control: control, collected: make(chan struct{}),
		maxRows: o.MaxRows, spill: o.Spill, flows: o.Flows, secrets: o.Secrets, log: cmp.Or(o.Log, slog.Default()), server: o.Server,
	}, nil
}

func clockFrom(base time.Time) func() history.Offset {
	return func() history.Offset { return time.Since(base) }
}

// end stops the plan, and returns an error if rows are lost with this process.
func (w *worker) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.current
	if p == nil || !p.begun() {
		return nil
	}
	p.attack.Stop(w.clock())
	status := w.status(p)
	if status.Finished && p.segments.empty() {
		return nil
	}
	return fmt.Errorf("load worker: the rows of plan %s that were not collected are lost: %d in memory, %d on disk",
		p.plan.ID, status.Held, status.Spilled)
}

// adopt prepares a plan, unless it is the current one.
func (w *worker) adopt(plan load.Plan) (*playing, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.current; p != nil {
		switch {
		case reflect.DeepEqual(p.plan, plan):
			return p, nil
		case p.plan.ID == plan.ID:
			return nil, fmt.Errorf("plan %s exists already, with other contents", plan.ID)
		case p.begun() && (!p.done() || !p.segments.empty()):
			return nil, fmt.Errorf("plan %s is running or not yet collected", p.plan.ID)
		}
	}
	private, err := w.prepared(plan)
	if err != nil {
		return nil, err
	}
	p := &playing{plan: plan, started: make(chan struct{}), finished: make(chan struct{})}
	p.segments.spill = w.spill
	p.attack, err = load.NewAttack(w.ctx, private, w.options(&p.segments))
	if err != nil {
		return nil, err
	}
	p.segments.spilled = p.attack.Forget
	w.log.Info("plan is ready", "plan", plan.ID, "share", plan.Share.String())
	w.current = p
	return p, nil
}

// options of an attack of this worker.
func (w *worker) options(to load.Segments) load.Options {
	return load.Options{
		Worker: w.name, Control: w.control, Now: w.clock, MaxRows: w.maxRows, Segments: to, Log: w.log,
		Flows: w.flows, Server: w.server,
	}
}

// prepared is a plan with the values of its Secrets, and with the messages of its gRPC calls, whose servers may have to be asked for them.
// It stays in this process: no answer of the API has a plan in it.
func (w *worker) prepared(plan load.Plan) (load.Plan, error) {
	plan.Lanes = slices.Clone(plan.Lanes)
	for i := range plan.Lanes {
		l := &plan.Lanes[i]
		var err error
		if l.Request, err = l.Request.WithSecrets(w.secrets); err != nil {
			return plan, fmt.Errorf("lane %s: %w", l.Lane, err)
		}
		if l.Request, err = l.Request.Resolved(w.ctx, l.Target); err != nil {
			return plan, fmt.Errorf("lane %s: %w", l.Lane, err)
		}
	}
	return plan, nil
}
