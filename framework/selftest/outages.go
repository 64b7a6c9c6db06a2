package selftest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Lengths are the lengths of the outages. Rates are the requests a second on each lane during the outages.
var (
	Lengths = []time.Duration{
		2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond,
	}
	Rates = []float64{100, 200, 1000}
)

const (
	outageSlack = time.Millisecond // an outage that lasted at most so much longer than planned counts as the planned one
	// outagePause, and up to as much again at random, lies between outages. It is longer than the gap between requests at the
	// lowest rate, so that an outage begins at a random moment of that gap.
	outagePause = 20 * time.Millisecond
	// outageTries is how often an outage is tried that the machine makes too long.
	outageTries = 5
)

// window is when an outage was in force. The outage of windows[i] has the number i+1.
type window struct {
	from, to time.Time
	planned  time.Duration
	longer   bool // the machine made it longer. It counts only if it was missed, since a shorter one would have been missed, too.
}

// makeOutages makes outages of all lengths in turns, so many of each, and returns when each was.
func makeOutages(ctx context.Context, o *outage, trials int, random *rand.Rand, done func(n, of int)) ([]window, error) {
	var windows []window
	for i := range trials {
		for _, length := range Lengths {
			for range outageTries {
				if err := poll.Pass(ctx, outagePause+time.Duration(random.Int64N(int64(outagePause)))); err != nil {
					return windows, err
				}
				w, err := o.last(ctx, int64(len(windows)+1), length)
				if err != nil {
					return windows, err
				}
				windows = append(windows, w)
				if !w.longer {
					break
				}
			}
		}
		done(i+1, trials)
	}
	return windows, nil
}

// last keeps an outage in force for a length of time.
func (o *outage) last(ctx context.Context, number int64, length time.Duration) (window, error) {
	from := time.Now()
	o.number.Store(number)
	defer o.number.Store(0)
	if length > 3*time.Millisecond {
		if err := poll.Pass(ctx, length-2*time.Millisecond); err != nil {
			return window{}, err
		}
	}
	for time.Since(from) < length { // a timer would be late by up to a millisecond
	}
	o.number.Store(0)
	w := window{from: from, to: time.Now(), planned: length}
	w.longer = w.to.Sub(from) > length+outageSlack
	return w, nil
}

// span is a window on a record's clock, widened by the uncertainty of that clock.
type span struct{ from, to history.Offset }

func (w window) on(base time.Time, uncertainty time.Duration) span {
	return span{w.from.Sub(base) - uncertainty, w.to.Sub(base) + uncertainty}
}

// lateIn reports whether a request that was due in the span or just before it was sent too late or not at all. The outage may have
// met no request for that reason.
func (s span) lateIn(rows *laneRows, gap, allowed time.Duration) bool {
	from, _ := slices.BinarySearchFunc(rows.late, s.from-gap-allowed, func(l lateness, t time.Duration) int { return cmp.Compare(l.due, t) })
	for _, l := range rows.late[from:] {
		if l.due > s.to {
			return false
		}
		if l.by > allowed {
			return true
		}
	}
	return false
}

// maxOutageLag is how late a request may be at most. A later one may be the reason why an outage at that moment was missed.
const maxOutageLag = 2 * time.Millisecond

// allowedLag is how late requests may be while an outage that is longer than the gap between them still meets one.
func allowedLag(length, gap time.Duration) time.Duration {
	if length <= gap {
		return maxOutageLag // it meets a request by chance
	}
	return min(max(length-gap, leastLag), maxOutageLag)
}

// seenIn are the numbers of the outages that reset a request whose row is failed. Failed rows of other requests are false alarms,
// except for time-outs.
func seenIn(rows *laneRows, hits map[string][]int64) (seen map[int64]bool, alarms, timeouts int) {
	seen = make(map[int64]bool)
	for i := range rows.failed {
		numbers := hits[idOf(&rows.failed[i])]
		for _, number := range numbers {
			seen[number] = true
		}
		switch {
		case len(numbers) > 0:
		case timedOut(rows.failed[i].Outcome):
			timeouts++
		default:
			alarms++
		}
	}
	return seen, alarms, timeouts
}

// unrecorded counts the requests of a lane that an outage reset and that have no failed row.
func unrecorded(lane history.Lane, rows *laneRows, hits map[string][]int64) int {
	failed := make(map[string]bool, len(rows.failed))
	for i := range rows.failed {
		failed[idOf(&rows.failed[i])] = true
	}
	n := 0
	for id := range hits {
		if laneOf(id) == lane && !failed[id] {
			n++
		}
	}
	return n
}

// measureOutages measures, at all rates at once, which outages are seen.
func measureOutages(ctx context.Context, dir string, trials int, random *rand.Rand, done func(n, of int)) ([]OutageRow, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := &outage{}
	var rigs []*rig
	var errs []error
	for _, rate := range Rates {
		r, err := start(ctx, o, nil, filepath.Join(dir, fmt.Sprintf("outages-%g", rate)), rate, time.Hour)
		if err != nil {
			errs = append(errs, err)
			break
		}
		rigs = append(rigs, r)
	}
	var windows []window
	if len(errs) == 0 {
		errs = append(errs, poll.Pass(ctx, time.Second)) // until there are kept connections
		var err error
		windows, err = makeOutages(ctx, o, trials, random, done)
		errs = append(errs, err)
	}
	var rows []OutageRow
	for _, r := range rigs {
		run, err := r.stop(ctx)
		if errs = append(errs, err); errors.Join(errs...) != nil {
			continue
		}
		more, err := outageRows(run, r.writer.Base(), r.rate, windows, r.server.hits())
		rows, errs = append(rows, more...), append(errs, err)
	}
	return rows, errors.Join(errs...)
}

// outageRows are what each lane saw of the outages, and what both saw together.
func outageRows(run history.Run, base time.Time, rate float64, windows []window, hits map[string][]int64) ([]OutageRow, error) {
	byLane, err := readRows(run)
	if err != nil {
		return nil, err
	}
	spans := make([]span, len(windows))
	for i, w := range windows {
		spans[i] = w.on(base, uncertainty(run))
	}
	gap := time.Duration(float64(time.Second) / rate)
	var rows []OutageRow
	for _, of := range [][]history.Lane{lanes[:1], lanes[1:], lanes} {
		rows = append(rows, outageRow(byLane, of, gap, windows, spans, hits))
	}
	return rows, nil
}

func outageRow(byLane map[history.Lane]*laneRows, of []history.Lane, gap time.Duration, windows []window, spans []span, hits map[string][]int64) OutageRow {
	together := gap / time.Duration(len(of))
	row := OutageRow{GapMilliseconds: milliseconds(together)}
	seenBy := make([]map[int64]bool, len(of))
	for i, lane := range of {
		row.Lanes = append(row.Lanes, string(lane))
		row.Requests += byLane[lane].requests
		seen, alarms, timeouts := seenIn(byLane[lane], hits)
		seenBy[i] = seen
		row.Unrecorded += unrecorded(lane, byLane[lane], hits)
		row.FalseAlarms, row.TimedOut = row.FalseAlarms+alarms, row.TimedOut+timeouts
	}
	for _, length := range Lengths {
		counted := OutageLength{Milliseconds: milliseconds(length)}
		seen, all := 0, 0
		for i, w := range windows {
			if w.planned != length {
				continue
			}
			late, sees := false, false
			for l, lane := range of {
				late = late || spans[i].lateIn(byLane[lane], gap, allowedLag(length, together))
				sees = sees || seenBy[l][int64(i+1)]
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
		counted.Seen, counted.Expected = NewRate(seen, all), min(1, counted.Milliseconds/row.GapMilliseconds)
		row.Late += counted.Late
		row.Lengths = append(row.Lengths, counted)
	}
	return row
}
