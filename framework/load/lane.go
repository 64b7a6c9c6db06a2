package load

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/check"
)

// LateLimit is how late a request may be sent. A request that the worker reaches even later, because it was frozen or starved,
// is Unsent: sending all such requests at once would not be the planned load.
const LateLimit = time.Second

// Requests that are late by less are sent at up to catchUp times the lane's rate, in bursts of at most the requests that are
// due within catchUpBurst at that rate: a server under test must not suffer from a frozen worker.
const (
	catchUp      = 4
	catchUpBurst = 10 * time.Millisecond
)

// Why a request was not sent, in a row's text.
const (
	unsentBusy = "the lane's limit of requests in flight was reached"
	unsentLate = "the worker got to it more than a second late"
	unsentFull = "the worker's limit of uncollected rows was reached"
)

// dueRequest is a request to be sent.
type dueRequest struct {
	k   uint64
	due history.Offset
}

// lane is a running Lane.
type lane struct {
	Lane
	share     history.Share
	worker    string
	pacer     vegeta.Pacer
	template  *http.Request
	transport transport
	record    *recorder
	counts    *counts
	longest   check.Unframed

	start history.Offset // when hit 0 is due
	end   history.Offset // no hit is due from here on
	halt  *halt

	work    chan dueRequest
	senders int
	done    sync.WaitGroup // of the senders
}

// halt ends lanes early: no hit is due from a moment on.
type halt struct {
	once sync.Once
	at   atomic.Int64
	news chan struct{} // closed once the moment is known
}

// never is a moment that does not come.
const never = history.Offset(1<<63 - 1)

func newHalt() *halt {
	h := &halt{news: make(chan struct{})}
	h.at.Store(int64(never))
	return h
}

func (h *halt) stop(at history.Offset) {
	h.once.Do(func() {
		h.at.Store(int64(at))
		close(h.news)
	})
}

// moment is when lanes end.
func (h *halt) moment() history.Offset { return history.Offset(h.at.Load()) }

// turn is which of a worker's connections sends hit k: each of them gets its turn, however many workers share the plan. Where they are to be idle,
// every second round takes each tenth of them backwards: else all would be idle for exactly as long, and a server's time-out be met by all or by none.
func (l *lane) turn(k uint64) uint64 {
	n, all := l.share.Nth(k), uint64(l.Connections)
	if l.Idle == 0 || n/all%2 == 0 {
		return n
	}
	i, tenth := n%all, max(1, all/10)
	first := i / tenth * tenth
	return n - i + first + min(first+tenth, all) - 1 - i
}

// due returns when hit k is to be sent. A pacer that is asked at elapsed time zero returns its schedule, whatever the delay
// so far.
func (l *lane) due(k uint64) history.Offset {
	wait, _ := l.pacer.Pace(0, k)
	return l.start + wait
}

// run plays the schedule to its end or until it is halted, and returns when every planned request has its row.
func (l *lane) run() {
	l.work = make(chan dueRequest)
	l.schedule()
	close(l.work)
	l.done.Wait()
	l.transport.close()
}

// schedule dispatches or skips one hit after the other, so that each gets a row.
func (l *lane) schedule() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	gap := time.Duration(float64(time.Second) / l.share.Of(l.pacer.Rate(0)) / catchUp)
	allowed := l.start // the earliest moment for the next hit, even if it was due before
	for n := uint64(0); ; n++ {
		k := l.share.Hit(n)
		due := l.due(k)
		if due >= l.end || !l.await(timer, due, allowed) {
			return
		}
		allowed = max(allowed, l.record.now()-catchUpBurst) + gap
		l.counts.planned.Add(1)
		l.dispatch(dueRequest{k: k, due: due})
	}
}

// await returns when a hit is due and allowed, or false once it is known that the lane ends before.
func (l *lane) await(timer *time.Timer, due, allowed history.Offset) bool {
	news := l.halt.news
	for due < l.halt.moment() {
		wait := max(due, allowed) - l.record.now()
		if wait <= 0 {
			return true
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-news:
			news = nil
		}
	}
	return false
}

// dispatch hands a request that is due to a sender, to a new one if all are busy, or records why it is not sent.
func (l *lane) dispatch(s dueRequest) {
	if l.record.full() {
		l.record.skipped(l, s.k)
		return
	}
	if l.record.now()-s.due > LateLimit {
		l.skip(s.k, s.due, unsentLate)
		return
	}
	select {
	case l.work <- s:
		return
	default:
	}
	if l.senders >= l.InFlight {
		l.skip(s.k, s.due, unsentBusy)
		return
	}
	l.senders++
	l.done.Go(func() { l.serve(s) })
}

// serve sends a first request, and then those that the schedule hands out.
func (l *lane) serve(first dueRequest) {
	s := l.transport.sender(l)
	s.send(first.k, first.due)
	for next := range l.work {
		s.send(next.k, next.due)
	}
}

// inTime makes a row that of a good answer, which now is there, unless it came late.
func (l *lane) inTime(row *history.Request) {
	row.Outcome = history.OK
	if within := l.Expect.Within; within > 0 && l.record.now()-row.Sent > within {
		row.Outcome, row.Err = history.Late, "the answer came later than "+within.String()
	}
}

// skip records a request that is not sent.
func (l *lane) skip(k uint64, due history.Offset, why string) {
	l.record.add(&history.Request{
		Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: due, Outcome: history.Unsent, Err: why,
	})
}
