// Package reach sends one request to each target of a plan before the load begins: what blocks the way is to be known then, and not from
// a report in which every request has failed.
//
// It makes no row, and judges nothing.
package reach

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

// Trial is what became of a single request that was sent before the load, to learn whether its target can be reached.
type Trial struct {
	Lane    history.Lane    `json:"lane"`
	Target  string          `json:"target"`
	Addr    string          `json:"addr,omitempty"` // the peer, if there was a connection
	Outcome history.Outcome `json:"outcome"`
	Err     string          `json:"err,omitempty"`
}

// Blocked reports whether no connection could be made although something may listen there: what drops packets on their way looks so. A
// refused connection is not such an error, because a host refused it. A name that the DNS does not know leads nowhere either.
func (t Trial) Blocked() bool {
	return strings.HasSuffix(t.Err, "no such host") || t.Outcome == history.TimeoutConnect || t.Outcome == history.Unreachable
}

// Broke reports whether a connection ended before an answer began: a mesh that accepts only its own members does that.
func (t Trial) Broke() bool { return t.Outcome == history.Reset || t.Outcome == history.ClosedEarly }

// Try sends one request to each target of a valid plan, on the first lane that leads there, and leaves no row. The control lane leads
// nowhere. It takes as long as the slowest answer, and at most the lane's time-outs.
func Try(ctx context.Context, plan load.Plan, o load.Options) ([]Trial, error) {
	firsts := firstLanes(plan)
	o.Worker += trySuffix
	trials := make([]Trial, len(firsts))
	errs := make([]error, len(firsts))
	var all sync.WaitGroup
	for i, l := range firsts {
		all.Go(func() { trials[i], errs[i] = tryLane(ctx, l, o) })
	}
	all.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return trials, nil
}

// patience is how long an answer is waited for: once there is a connection, the way is known to be open.
const patience = 10 * time.Second

// trySuffix makes the IDs of these requests differ from those of the load.
const trySuffix = ".try"

// firstLanes are the first lane to each host, without the control lane.
func firstLanes(plan load.Plan) (firsts []load.Lane) {
	known := map[string]bool{}
	for _, l := range plan.Lanes {
		u, err := url.Parse(l.Target)
		if err != nil || l.Lane == history.LaneControl || known[u.Host] {
			continue
		}
		known[u.Host] = true
		firsts = append(firsts, l)
	}
	return firsts
}

// tryLane plays a plan with one hit.
func tryLane(ctx context.Context, l load.Lane, o load.Options) (Trial, error) {
	l.Rate, l.Connections, l.MaxConnections = 1, 1, 0
	l.Timeouts.Response = min(cmp.Or(l.Timeouts.Response, load.DefaultTimeouts.Response), patience)
	l.Timeouts.Request = min(cmp.Or(l.Timeouts.Request, load.DefaultTimeouts.Request), patience)
	kept := &onlyRow{}
	o.Segments, o.MaxRows = kept, 0
	a, err := load.NewAttack(ctx, load.Plan{ID: "try", Lanes: []load.Lane{l}, Duration: time.Nanosecond}, o)
	if err != nil {
		return Trial{}, err
	}
	a.Run(o.Now())
	r := kept.row
	return Trial{Lane: l.Lane, Target: l.Target, Addr: r.Addr, Outcome: r.Outcome, Err: r.Err}, kept.err
}

// onlyRow keeps a single row.
type onlyRow struct {
	row history.Request
	err error
}

// Put implements load.Segments.
func (s *onlyRow) Put(csv []byte, _ int) error {
	for row, err := range history.DecodeRequests(csv) {
		if err != nil {
			s.err = err
			return err
		}
		s.row = *row
	}
	return nil
}

// PutUnsent implements load.Segments. There is room for one row.
func (s *onlyRow) PutUnsent(load.UnsentRows) {}
