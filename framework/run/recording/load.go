package recording

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
)

// Inside makes load workers in the cluster. It returns them when they are ready, with the client that reaches them, and what removes them.
type Inside func(ctx context.Context) (workers []collect.Worker, client *http.Client, remove func(context.Context) error, err error)

// insideSuffix ends the names of the probes that are sent from inside of the cluster, where they are sent from both places.
const insideSuffix = "-inside"

// sent is a probe with the place that it is sent from, and its lanes.
type sent struct {
	probe int // its index in the options
	from  history.LoadFrom
	lanes []load.Lane
}

// probes are those of the load, by the names that their lanes have.
func (o *Options) probes() (probes []apptest.Probe) {
	if o.From != history.LoadBoth {
		return o.Probes
	}
	for _, p := range o.Probes {
		p.Name += insideSuffix
		probes = append(probes, p)
	}
	return slices.Concat(o.Probes, probes)
}

// sent are the probes of the load. A probe that is sent from both places has lanes of its own for each.
func (o *Options) sent() (all []sent) {
	for _, from := range []history.LoadFrom{history.LoadOutside, history.LoadInside} {
		if from == history.LoadOutside && !o.outside() || from == history.LoadInside && !o.inside() {
			continue
		}
		for i := range o.Probes {
			all = append(all, sent{probe: i, from: from})
		}
	}
	next, probes := 0, o.probes()
	lanes := apptest.Lanes(probes, Rate)
	for i, p := range probes {
		n := len(p.LaneNames(len(probes)))
		for _, l := range lanes[next : next+n] {
			all[i].lanes = append(all[i].lanes, o.Run.marked(l))
		}
		next += n
	}
	return all
}

// RunHeader is a header of each request, whose value is the ID of the run: whoever sees the requests can tell whose they are.
const RunHeader = "X-Holdfast-Run"

// marked is a lane whose requests say whose they are.
// Lanes without HTTP headers of their own cannot.
func (r Run) marked(l load.Lane) load.Lane {
	if !strings.HasPrefix(l.Target, "http") || l.Expect.Serving || l.Request.Call != nil {
		return l
	}
	headers := map[string]string{"User-Agent": "holdfast/" + r.Holdfast, RunHeader: r.ID}
	maps.Copy(headers, l.Request.Headers)
	l.Request.Headers = headers
	return l
}

// target says in the header where the requests go, and behind which Services they end.
func (s *Session) target(ctx context.Context, h *history.Header) error {
	o := &s.options
	if err := s.known(ctx, o.Behind); err != nil {
		return err
	}
	finder, err := NewFinder(s.config, o.Namespaces)
	if err != nil {
		return err
	}
	var all []string
	ways := make([]Found, len(o.Probes))
	for i, p := range o.Probes {
		way := &ways[i]
		if *way, err = finder.Find(ctx, p.URL); err != nil {
			return o.Access.Explain(err)
		}
		if way.Services = append(way.Services, o.furtherBehind(p, way.Services)...); len(o.Behind) > 0 {
			way.Services = o.Behind
		}
		if len(way.Services) == 0 {
			h.Notes = append(h.Notes, fmt.Sprintf("It is not known behind which Service the requests to %s end (%s), so nothing is shown about them: "+
				"name it with --behind NAMESPACE/SERVICE.", p.URL, way.Why))
		}
		all = append(all, way.Services...)
	}
	h.Plan = &history.Plan{}
	for _, p := range o.sent() {
		for _, l := range p.lanes {
			h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: l.Lane, Target: l.Target, RatePerSecond: l.Rate, Front: front(p.from, ways[p.probe])})
		}
	}
	h.Plan.Lanes = append(h.Plan.Lanes, history.LanePlan{Lane: history.LaneControl, RatePerSecond: controlRate})
	slices.Sort(all)
	h.Recorded.Services = slices.Compact(all)
	return nil
}

// furtherBehind are the Services that a probe names as those behind a proxy: in the namespaces of the proxy's own Services, or, where none was
// found, in the only namespace that is recorded.
func (o *Options) furtherBehind(p apptest.Probe, found []string) (further []string) {
	var namespaces []string
	for _, service := range found {
		namespace, _, _ := strings.Cut(service, "/")
		namespaces = append(namespaces, namespace)
	}
	if len(found) == 0 && len(o.Namespaces) == 1 {
		namespaces = o.Namespaces
	}
	for _, namespace := range namespaces {
		for _, name := range p.Behind {
			if one := namespace + "/" + name; !slices.Contains(found, one) && !slices.Contains(further, one) {
				further = append(further, one)
			}
		}
	}
	return further
}

// known returns an error for a Service that is not there, or whose pods are not recorded: after hours, nothing would be shown of the requests.
func (s *Session) known(ctx context.Context, services []string) error {
	for _, service := range services {
		namespace, name, _ := strings.Cut(service, "/")
		if in := s.options.Namespaces; len(in) > 0 && !slices.Contains(in, namespace) {
			return fmt.Errorf("behind %s: its namespace is not recorded: name it with -n as well", service)
		}
		_, err := s.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil && !existing.MayNot(err) {
			return s.options.Access.Explain(fmt.Errorf("look at Service %s, behind which the requests are said to end: %w", service, err))
		}
	}
	return nil
}

// front is the way to some Services: no answer names a pod; nil: it is not known where the way leads.
func front(from history.LoadFrom, to Found) *history.Front {
	if len(to.Services) == 0 {
		return nil
	}
	way := "the way from where holdfast runs to "
	if from == history.LoadInside {
		way = "the way from inside of the cluster to "
	}
	f := &history.Front{Name: way + prose.List(to.Services), Sticky: to.Sticky}
	for _, s := range to.Services {
		_, name, _ := strings.Cut(s, "/")
		f.Backends = append(f.Backends, name)
	}
	return f
}

// startLoad starts the load from each place. It returns when it flows.
func (s *Session) startLoad(ctx, lasting context.Context) error {
	for _, from := range []history.LoadFrom{history.LoadOutside, history.LoadInside} {
		plan := load.Plan{ID: s.options.Run.ID + "-" + string(from), Duration: load.MaxDuration, Yields: true}
		if len(s.options.Does) > 0 {
			plan.Untended = untended
		}
		for _, p := range s.options.sent() {
			if p.from == from {
				plan.Lanes = append(plan.Lanes, p.lanes...)
			}
		}
		if len(plan.Lanes) == 0 {
			continue
		}
		lanes, rate := len(plan.Lanes), rateOf(plan.Lanes)
		plan.Lanes = append(plan.Lanes, load.Lane{Lane: history.LaneControl, Rate: controlRate})
		if err := s.startFrom(ctx, lasting, from, plan); err != nil {
			return fmt.Errorf("start the load from %s: %w", from, err)
		}
		s.Say("sending %g requests a second from %s, on %s", rate, from, prose.Count(lanes, "lane"))
	}
	return nil
}

// rateOf is the rate of some lanes together.
func rateOf(lanes []load.Lane) (sum float64) {
	for _, l := range lanes {
		sum += l.Rate
	}
	return sum
}

// untended is how long the load of a cluster that holdfast disturbs goes on without this process. The load of a recording goes on, because
// its API server may be away for minutes.
const untended = time.Minute

// controlRate is that of the control lane, which never leaves its worker.
const controlRate = 20

func (s *Session) startFrom(ctx, lasting context.Context, from history.LoadFrom, plan load.Plan) error {
	workers, client := []collect.Worker{}, http.DefaultClient
	if from == history.LoadOutside {
		here, err := s.workHere(lasting)
		if err != nil {
			return err
		}
		workers = append(workers, here)
	} else {
		made, reaching, remove, err := s.options.Inside(ctx)
		if remove != nil {
			s.ending = append(s.ending, remove)
		}
		if err != nil {
			return err
		}
		workers, client = made, reaching
	}
	until := s.board.Now() + plan.Duration // or some milliseconds later
	session, err := collect.Start(lasting, client, workers, plan, s.board)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.load = append(s.load, &loading{from: from, session: session, until: until})
	return nil
}

// workHere runs a load worker in this process, which is reached over loopback, as by each user of this machine: only calls of this process count. It ends
// when all is collected, or with the recording.
func (s *Session) workHere(lasting context.Context) (worker collect.Worker, err error) {
	var config net.ListenConfig
	listener, err := config.Listen(lasting, "tcp", "127.0.0.1:0")
	if err != nil {
		return worker, err
	}
	ctx, cancel := context.WithCancel(lasting)
	ended := make(chan error, 1)
	name := string(history.LoadOutside)
	if s.resumed > 0 { // the worker of an earlier recorder had that name, and its requests are its own
		name += fmt.Sprintf("-%d", s.resumed+1)
	}
	worker = collect.Worker{URL: "http://" + listener.Addr().String(), Token: collect.NewToken()}
	go func() {
		ended <- collect.RunWorker(ctx, collect.WorkerOptions{Name: name, Listener: listener, TokenSum: collect.TokenSum(worker.Token), Log: slog.New(slog.DiscardHandler)})
	}()
	s.ending = append(s.ending, func(context.Context) error {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	return worker, nil
}
