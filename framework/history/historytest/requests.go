package historytest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Worker is the default load worker of requests.
const Worker = "worker-0"

// Latency is the default duration of a request.
const Latency = 2 * time.Millisecond

// Request adds a request. Zero fields get the values of a good request: Worker, LaneFresh, the lane's next Seq, Sent at
// Due, Done after Latency, OK, and for an OK request status 200, one attempt and a body. An Unsent request keeps its zero
// fields.
func (b *Builder) Request(r history.Request) *Builder {
	r.Worker = cmp.Or(r.Worker, Worker)
	r.Lane = cmp.Or(r.Lane, history.LaneFresh)
	r.Outcome = cmp.Or(r.Outcome, history.OK)
	if r.Seq == 0 {
		r.Seq = b.nextSeq(r.Worker, r.Lane)
	}
	if r.Outcome != history.Unsent {
		r.Sent = cmp.Or(r.Sent, r.Due)
		r.Attempts = cmp.Or(r.Attempts, 1)
	}
	r.Done = cmp.Or(r.Done, max(r.Due, r.Sent)+Latency)
	if r.Outcome == history.OK {
		r.Status = cmp.Or(r.Status, 200)
		r.Bytes = cmp.Or(r.Bytes, int64(len("ok 0\n")))
	}
	b.requests = append(b.requests, r)
	return b
}

func (b *Builder) nextSeq(worker string, lane history.Lane) uint64 {
	for i := len(b.requests) - 1; i >= 0; i-- {
		if b.requests[i].Worker == worker && b.requests[i].Lane == lane {
			return b.requests[i].Seq + 1
		}
	}
	return 0
}

// Load adds good requests at an even pace in [from, to). The pods that are ready and not being deleted at that moment,
// according to the events added so far, answer them in turn; if there are none, the requests name no pod.
func (b *Builder) Load(lane history.Lane, perSecond int, from, to history.Offset) *Builder {
	first := b.nextSeq(Worker, lane)
	events := slices.SortedStableFunc(slices.Values(b.events), func(x, y history.Event) int { return cmp.Compare(x.T, y.T) })
	state, ready := history.NewState(), []history.Pod(nil)
	step := time.Second / time.Duration(perSecond)
	conns := make(map[string]uint64) // for a lane that keeps connections: one connection per server
	seq := first
	for due := from; due < to; due += step {
		r := history.Request{
			Worker: Worker, Lane: lane, Seq: seq, Due: due, Sent: due, Done: due + Latency, Outcome: history.OK,
			Status: 200, Attempts: 1, Bytes: int64(len("ok 0\n")), Conn: seq + 1,
		}
		for ; len(events) > 0 && events[0].T <= due; events = events[1:] {
			if state.Apply(events[0]); events[0].Pod != nil {
				ready = slices.SortedFunc(maps.Values(state.Pods), func(x, y history.Pod) int { return cmp.Compare(x.UID, y.UID) })
				ready = slices.DeleteFunc(ready, func(p history.Pod) bool { return !p.Ready || p.Deleting })
			}
		}
		if len(ready) > 0 {
			p := ready[seq%uint64(len(ready))]
			r.Pod, r.Node, r.Zone, r.Revision = p.Name, p.Node, ZoneOf(p.Node), p.Labels[RevisionLabel]
			r.Addr = p.IP + ":8080"
			if lane != history.LaneFresh {
				if r.Reused = conns[p.UID] != 0; !r.Reused {
					conns[p.UID] = first + uint64(len(conns)) + 1
				}
				r.Conn = conns[p.UID]
			}
		}
		b.requests = append(b.requests, r)
		seq++
	}
	return b
}

// Fail turns the lane's requests that are due in [from, to) into failures: no status, no body, and the server that would
// have answered as inferred.
func (b *Builder) Fail(lane history.Lane, from, to history.Offset, outcome history.Outcome) *Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Lane != lane || r.Due < from || r.Due >= to {
			return
		}
		r.Outcome, r.Status, r.Bytes, r.Err = outcome, 0, 0, string(outcome)
		r.Inferred = r.Pod != ""
		if outcome == history.Unsent {
			*r = history.Request{Worker: r.Worker, Lane: r.Lane, Seq: r.Seq, Due: r.Due, Done: r.Done, Outcome: outcome}
		}
	})
}

// EditRequests calls edit with every request added so far.
func (b *Builder) EditRequests(edit func(*history.Request)) *Builder {
	b.own()
	for i := range b.requests {
		edit(&b.requests[i])
	}
	return b
}

// DropRequests removes every request added so far for which drop returns true.
func (b *Builder) DropRequests(drop func(history.Request) bool) *Builder {
	b.own()
	b.requests = slices.DeleteFunc(b.requests, drop)
	return b
}

// FailReading makes the sequence of requests end with an error.
func (b *Builder) FailReading(err error) *Builder {
	b.readError = err
	return b
}

// Share divides the requests added so far among workers, worker-0 and so on: each sends the hits k with k mod workers = its number.
func (b *Builder) Share(workers int) *Builder {
	starts := make(map[history.Lane]*history.LaneStart)
	var lanes []history.LaneStart
	b.EditRequests(func(r *history.Request) {
		r.Worker = fmt.Sprintf("worker-%d", r.Seq%uint64(workers))
		if s := starts[r.Lane]; s == nil || r.Due < s.Start {
			starts[r.Lane] = &history.LaneStart{Lane: r.Lane, Start: r.Due}
		}
	})
	for _, planned := range b.header.Plan.Lanes {
		if s := starts[planned.Lane]; s != nil {
			s.RatePerSecond = planned.RatePerSecond
			lanes = append(lanes, *s)
		}
	}
	for i := range workers {
		b.Event(history.Event{T: lanes[0].Start - 300*time.Millisecond, Share: &history.LoadShare{
			Worker: fmt.Sprintf("worker-%d", i), Share: history.Share{Index: i, Workers: workers}, Lanes: lanes,
		}})
	}
	return b
}

// WithoutTotals prevents Run from adding Clock and LoadTotals, for tests that add their own or none.
func (b *Builder) WithoutTotals() *Builder {
	b.totals = false
	return b
}

// totals are the final Clock of each worker, and its LoadTotals of each lane.
func totals(rows []history.Request, at history.Offset) []history.Event {
	type key struct {
		worker string
		lane   history.Lane
	}
	counts := make(map[key]*history.LoadTotals)
	for i := range rows {
		k := key{rows[i].Worker, rows[i].Lane}
		if counts[k] == nil {
			counts[k] = &history.LoadTotals{Worker: k.worker, Lane: k.lane}
		}
		counts[k].Planned++
		if rows[i].Outcome == history.Unsent {
			counts[k].Unsent++
		} else {
			counts[k].Sent++
		}
	}
	var events []history.Event
	workers := make(map[string]bool)
	for _, c := range counts {
		if !workers[c.Worker] {
			workers[c.Worker] = true
			clock := history.Clock{Worker: c.Worker, Uncertainty: 300 * time.Microsecond}
			events = append(events, history.Event{T: at, Clock: &clock})
		}
		events = append(events, history.Event{T: at, Load: c})
	}
	// Map iteration order is random, and tests compare records.
	slices.SortFunc(events, func(x, y history.Event) int { return strings.Compare(order(x), order(y)) })
	return events
}

func order(e history.Event) string {
	if e.Clock != nil {
		return "a " + e.Clock.Worker
	}
	return fmt.Sprintf("b %s %s", e.Load.Worker, e.Load.Lane)
}
