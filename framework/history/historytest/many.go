package historytest

import (
	"errors"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Many is the record of Healthy with more requests than a test should keep in memory. Half of them are on each of its two lanes.
type Many struct {
	Requests int
	// RatePerSecond is how many are sent in a second, on both lanes together. The load goes on until all are sent. Zero sends all of them in
	// Healthy's own time.
	RatePerSecond int
	// FailEvery makes one request in so many fail. Zero: none fails.
	FailEvery int
	// Promises are written into the header.
	Promises []history.Promise
}

// manyAtOnce is how many requests are handed to the writer together.
const manyAtOnce = 100_000

// Write records the run in dir.
func (m Many) Write(dir string) error {
	healthy := Healthy()
	healthy.DropRequests(func(r history.Request) bool { return r.Seq >= 1000 })
	run := healthy.Run()
	run.Header.Promises = m.Promises
	w, err := history.Create(dir, run.Header)
	if err != nil {
		return err
	}
	var like []history.Request
	for r, err := range run.Requests() {
		if err != nil {
			return err
		}
		like = append(like, *r)
	}
	rows, err := w.Requests(Worker)
	if err != nil {
		return err
	}
	batch := make([]history.Request, 0, manyAtOnce)
	for i := range m.Requests {
		if batch = append(batch, m.request(i, like)); len(batch) == manyAtOnce {
			err = errors.Join(err, rows.Append(batch...))
			batch = batch[:0]
		}
	}
	err = errors.Join(err, rows.Append(batch...))
	for _, e := range run.Events {
		if e.Header == nil {
			err = errors.Join(err, w.Append(m.event(e)))
		}
	}
	return errors.Join(err, w.Close())
}

// took is for how long the requests are sent.
func (m Many) took() time.Duration {
	if m.RatePerSecond == 0 {
		return DrainedAt - SteadyAt
	}
	return max(DrainedAt-SteadyAt, time.Duration(m.Requests)*time.Second/time.Duration(m.RatePerSecond))
}

// request is the request of a number, with the answer of one of Healthy.
func (m Many) request(i int, like []history.Request) history.Request {
	r := like[i%len(like)]
	r.Lane, r.Seq = history.LaneFresh, uint64(i/2)
	if i%2 == 1 {
		r.Lane = history.LaneReused
	}
	r.Due = SteadyAt + time.Duration(float64(m.took())*float64(i)/float64(m.Requests))
	r.Sent, r.Done = r.Due, r.Due+time.Duration(i%977)*time.Microsecond
	if m.FailEvery > 0 && i%m.FailEvery == 0 {
		r.Outcome = history.Reset
	}
	return r
}

// event is an event of Healthy. The end of the load comes later, and the totals are those of all requests.
func (m Many) event(e history.Event) history.Event {
	if e.T >= DrainedAt {
		e.T += m.took() - (DrainedAt - SteadyAt)
	}
	if e.Load != nil {
		load := *e.Load
		load.Planned, load.Sent = uint64(m.Requests/2), uint64(m.Requests/2)
		e.Load = &load
	}
	return e
}
