package instrument

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/reports"
)

// SoakRate is how many requests a second a soak sends on each lane. Two idle cores bear it, the server included; on busy ones
// requests are late or never sent, and the soak says so.
const SoakRate = 1000

// Soak sends so many requests to a server that answers them all, and says what the record and its judgement made of them.
// Without a fault the promise that no request fails has no evidence, so its verdict is Unknown; anything else would be wrong.
func Soak(ctx context.Context, dir string, requests int, done func(of, all int)) (*reports.Soak, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rate := float64(SoakRate)
	lasting := time.Duration(float64(requests) / rate / float64(len(lanes)) * float64(time.Second))
	folder := filepath.Join(dir, "soak")
	r, err := startOn(ctx, &outage{base: time.Now()}, nil, folder, rate, lasting)
	if err != nil {
		return nil, err
	}
	waited := wait(ctx, lasting, func(of, all int) { done(int(float64(of)*rate)*len(lanes), requests) })
	run, err := r.stop(ctx)
	if err := errors.Join(waited, err); err != nil {
		return nil, err
	}
	s, err := soakOf(run)
	for _, l := range r.session.Status().Lanes { // the control lane as well: it is the same worker that is late
		s.LagP99Milliseconds = max(s.LagP99Milliseconds, milliseconds(l.LagP99))
		s.LagMaxMilliseconds = max(s.LagMaxMilliseconds, milliseconds(l.LagMax))
	}
	s.RatePerSecond, s.TookSeconds = rate*float64(len(lanes)), lasting.Seconds()
	return s, err
}

// soakOf reads a record: the worker's own counts, its rows, and the verdict.
func soakOf(run history.Run) (*reports.Soak, error) {
	s := &reports.Soak{}
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
