package selftest

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
)

// SoakRate is the number of requests a second that a soak sends on each lane. Two idle cores can do that, the server included. On
// busy cores requests are late or never sent, and the soak reports it.
const SoakRate = 1000

// measureSoak sends requests to a server that answers all of them, and reports what the record and its verdict say. There is no
// fault, so the promise that no request fails lacks evidence and its verdict is Unknown. Any other verdict would be wrong.
func measureSoak(ctx context.Context, dir string, requests int, done func(n, of int)) (*Soak, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rate := float64(SoakRate)
	duration := time.Duration(float64(requests) / rate / float64(len(lanes)) * float64(time.Second))
	r, err := start(ctx, &outage{}, nil, filepath.Join(dir, "soak"), rate, duration)
	if err != nil {
		return nil, err
	}
	passed := pass(ctx, duration, func(n, _ int) { done(int(float64(n)*rate)*len(lanes), requests) })
	run, err := r.stop(ctx)
	if err := errors.Join(passed, err); err != nil {
		return nil, err
	}
	s, err := soakOf(run)
	for _, l := range r.session.Statuses()[0].Lanes { // the control lane, too: the same worker is late there
		s.LagP99Milliseconds = max(s.LagP99Milliseconds, milliseconds(l.LagP99))
		s.LagMaxMilliseconds = max(s.LagMaxMilliseconds, milliseconds(l.LagMax))
	}
	s.RatePerSecond, s.TookSeconds = rate*float64(len(lanes)), duration.Seconds()
	return s, err
}

// soakOf reads a record: the worker's own counts, its rows, and the verdict.
func soakOf(run history.Run) (*Soak, error) {
	s := &Soak{}
	for _, e := range run.Events {
		if e.Load != nil && e.Load.Lane != history.LaneControl {
			s.Planned, s.Sent, s.Unsent = s.Planned+e.Load.Planned, s.Sent+e.Load.Sent, s.Unsent+e.Load.Unsent
		}
	}
	for row, err := range run.Requests() {
		if err != nil {
			return s, err
		}
		if row.Lane == history.LaneControl {
			continue
		}
		s.Rows++
		if row.Outcome.Failed() {
			s.Failed++
		}
		if row.Outcome == history.Masked {
			s.Masked++
		}
		if timedOut(row.Outcome) {
			s.TimedOut++
		}
	}
	for _, v := range judge.Judge(run) {
		s.Verdict, s.Seen = string(v.Outcome), v.Seen
		s.Judged = uint64(v.Numbers["failed"])
	}
	return s, nil
}
