package instrument

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/reports"
)

// Lengths are those of the outages that are planted, Rates the requests a second on each lane that meet them.
var (
	Lengths = []time.Duration{
		2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	}
	Rates = []float64{100, 200, 1000}
)

const (
	outageSlack = time.Millisecond // an outage may become longer by so much, and still count as what it was to be
	// outagePause, and up to as much again at random, lies between outages: longer than a gap between requests at the
	// lowest rate, so that where in it an outage falls is random, and long enough for what was reset to be over.
	outagePause = 20 * time.Millisecond
	// outageAim is how often a window that this machine made too long is tried again.
	outageAim = 5
)

// window is when an outage was in force.
type window struct {
	from, to time.Time
	of       time.Duration // what it was to be
	longer   bool          // this machine made it longer: it counts if it was missed, as a shorter one would have been
}

// plantOutages has so many outages of each length, in turns, and returns when each was.
func plantOutages(ctx context.Context, o *outage, trials int, random *rand.Rand, done func(of, all int)) ([]window, error) {
	var windows []window
	for i := range trials {
		for _, length := range Lengths {
			for range outageAim {
				w, err := o.strike(ctx, length, outagePause+time.Duration(random.Int64N(int64(outagePause))))
				if err != nil {
					return windows, err
				}
				if n := len(windows); n > 0 { // by now, all is known of the one before
					windows[n-1].extend(o)
				}
				windows = append(windows, w)
				if !w.longer {
					break
				}
			}
		}
		done(i+1, trials)
	}
	if err := poll.Pass(ctx, 100*time.Millisecond); err != nil {
		return windows, err
	}
	windows[len(windows)-1].extend(o)
	return windows, nil
}

// strike waits, and has an outage.
func (o *outage) strike(ctx context.Context, length, pause time.Duration) (window, error) {
	if err := poll.Pass(ctx, pause); err != nil {
		return window{}, err
	}
	from := time.Now()
	o.down.Store(true)
	defer o.down.Store(false)
	if length > 3*time.Millisecond {
		if err := poll.Pass(ctx, length-2*time.Millisecond); err != nil {
			return window{}, err
		}
	}
	for time.Since(from) < length { // a timer would be late by up to a millisecond
	}
	o.down.Store(false)
	w := window{from: from, to: time.Now(), of: length}
	w.longer = w.to.Sub(from) > length+outageSlack
	return w, nil
}

// extend a window to the last connection that was reset in it: who sees the switch may do so a moment later.
func (w *window) extend(o *outage) {
	if last := o.base.Add(time.Duration(o.reset.Load())); last.After(w.to) {
		w.to = last
	}
}

// span is a window on a record's clock, wider by what that may be off.
type span struct{ from, to history.Offset }

func (w window) on(base time.Time, off time.Duration) span {
	return span{w.from.Sub(base) - off, w.to.Sub(base) + off}
}

func (s span) holds(r *history.Request) bool { return r.Sent <= s.to && r.Done >= s.from }

// seenBy tells whether a request failed that was under way in the window.
func (s span) seenBy(n *notable) bool {
	return slices.ContainsFunc(n.failed, func(r history.Request) bool { return s.holds(&r) })
}

// lateIn tells whether a request was too late, or not sent, that was due in the window or just before: that is why the worker may
// not have met it.
func (s span) lateIn(n *notable, gap, allowed time.Duration) bool {
	from, _ := slices.BinarySearchFunc(n.late, s.from-gap-allowed, func(l lateness, t time.Duration) int { return cmp.Compare(l.due, t) })
	for _, l := range n.late[from:] {
		if l.due > s.to {
			return false
		}
		if l.by > allowed {
			return true
		}
	}
	return false
}

// outageLag is by how much a request may be late, at the most, before that may be why an outage at its moment was missed.
const outageLag = 2 * time.Millisecond

// allowedLag is by how much requests may be late, so that an outage that is longer than the gap between them meets one all the
// same.
func allowedLag(length, gap time.Duration) time.Duration {
	if length <= gap {
		return outageLag // it meets one by chance
	}
	return min(max(length-gap, leastLag), outageLag)
}

// unplanted are failures without an outage: false alarms, but for time-outs.
func unplanted(n *notable, spans []span) (alarms, timeouts int) {
	for i := range n.failed {
		switch r := &n.failed[i]; {
		case slices.ContainsFunc(spans, func(s span) bool { return s.holds(r) }):
		case timedOut(r.Outcome):
			timeouts++
		default:
			alarms++
		}
	}
	return alarms, timeouts
}

// Outages measures which of the planted outages are seen, at all rates at once.
func Outages(ctx context.Context, dir string, trials int, random *rand.Rand, done func(of, all int)) ([]reports.OutageRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := &outage{base: time.Now()}
	var rigs []*rig
	var errs []error
	for _, rate := range Rates {
		r, err := startOn(ctx, o, nil, filepath.Join(dir, fmt.Sprintf("outages-%g", rate)), rate, time.Hour)
		if err != nil {
			errs = append(errs, err)
			break
		}
		rigs = append(rigs, r)
	}
	var windows []window
	if len(errs) == 0 {
		errs = append(errs, poll.Pass(ctx, time.Second)) // until kept connections are there
		var err error
		windows, err = plantOutages(ctx, o, trials, random, done)
		errs = append(errs, err)
	}
	var rows []reports.OutageRow
	for _, r := range rigs {
		run, err := r.stop(ctx)
		if errs = append(errs, err); errors.Join(errs...) != nil {
			continue
		}
		of, err := outageRows(run, r.writer.Base(), r.rate, windows)
		rows, errs = append(rows, of...), append(errs, err)
	}
	return rows, errors.Join(errs...)
}

// startOn starts a rig on a server of its own.
func startOn(ctx context.Context, o *outage, l *losses, dir string, rate float64, duration time.Duration) (*rig, error) {
	s, err := serve(ctx, o, l)
	if err != nil {
		return nil, err
	}
	return start(ctx, dir, s.url, rate, duration)
}

// outageRows say what each lane saw of the windows, and what both together did.
func outageRows(run history.Run, base time.Time, rate float64, windows []window) ([]reports.OutageRow, error) {
	found, err := sift(run)
	if err != nil {
		return nil, err
	}
	spans := make([]span, len(windows))
	for i, w := range windows {
		spans[i] = w.on(base, uncertainty(run))
	}
	gap := time.Duration(float64(time.Second) / rate)
	var rows []reports.OutageRow
	for _, of := range [][]history.Lane{lanes[:1], lanes[1:], lanes} {
		rows = append(rows, outageRow(found, of, gap, windows, spans))
	}
	return rows, nil
}

func outageRow(found map[history.Lane]*notable, of []history.Lane, gap time.Duration, windows []window, spans []span) reports.OutageRow {
	together := gap / time.Duration(len(of))
	row := reports.OutageRow{GapMilliseconds: milliseconds(together)}
	for _, lane := range of {
		row.Lanes = append(row.Lanes, string(lane))
		row.Requests += found[lane].requests
		alarms, timeouts := unplanted(found[lane], spans)
		row.FalseAlarms, row.TimedOut = row.FalseAlarms+alarms, row.TimedOut+timeouts
	}
	for _, length := range Lengths {
		counted := reports.OutageLength{Milliseconds: milliseconds(length)}
		seen, all := 0, 0
		for i, w := range windows {
			if w.of != length {
				continue
			}
			late, sees := false, false
			for _, lane := range of {
				late = late || spans[i].lateIn(found[lane], gap, allowedLag(length, together))
				sees = sees || spans[i].seenBy(found[lane])
			}
			if sees && w.longer {
				continue
			}
			all++
			if late {
				counted.Late++
			}
			switch {
			case sees:
				seen++
			case late:
				counted.MissedLate++
			}
		}
		counted.Seen, counted.Expected = reports.NewRate(seen, all), min(1, counted.Milliseconds/row.GapMilliseconds)
		row.Late += counted.Late
		row.Lengths = append(row.Lengths, counted)
	}
	return row
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
