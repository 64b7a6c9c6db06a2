package requests

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Limits of what a load may leave unseen. An outage between two requests fails none of them, so a promise is kept only as far as
// requests were sent. A request that was sent late was missing when it was due.
const (
	// mostUnsent is the largest share of a lane's requests that may be unsent. Runs that held had at most one unsent request.
	mostUnsent = 0.01
	// Time after a request beyond farApart, and beyond farApartIntervals, counts as unseen.
	farApart          = 50 * time.Millisecond
	farApartIntervals = 3
	// mostUnseen is the largest share of the time that may be unseen in short pieces. In runs that held, beside compilers that used
	// both cores, it was 3 %.
	mostUnseen = 0.2
)

// blindness is what a lane left unseen from the start of the first fault to the end of the load.
type blindness struct {
	lane        history.Lane
	watched     time.Duration // for how long
	step        time.Duration // the resolution
	interval    time.Duration // between the lane's requests, as planned
	due, unsent uint64

	longest gap     // the longest time without a request sent by any worker
	unseen  float64 // the share of the time
	workers int
	still   gap // of several workers, the longest of one worker
	who     string

	uncounted bool // the record has more workers than are watched
	endless   bool // the record lacks the end of the load
}

// blind measures what a lane left unseen.
func (t *Stats) blind(name history.Lane) blindness {
	b := blindness{lane: name, watched: t.Watch.To - t.Watch.From, step: t.Watch.step, endless: t.windows == 0}
	all := t.Watch.empty()
	if lane := t.Find(name); lane != nil {
		all = lane.sends
	}
	for _, w := range t.workers {
		for _, row := range w.lanes {
			if row.lane.lane != name {
				continue
			}
			b.due, b.unsent = b.due+row.due, b.unsent+row.skipped
			b.workers++
			if row.sends == nil {
				b.uncounted = true
				continue
			}
			if still, _ := row.sends.gaps(row.watched, 0); still.length > b.still.length {
				b.still, b.who = still, w.name
			}
		}
	}
	if rate := t.rate(name); rate > 0 {
		b.interval = time.Duration(float64(time.Second) / rate)
	}
	var beyond history.Offset
	b.longest, beyond = all.gaps(t.Watch, b.apart())
	b.unseen = float64(beyond) / float64(max(b.watched, 1))
	return b
}

// rate of a lane: the planned rate, or the rate at which requests were due, whichever is higher.
func (t *Stats) rate(name history.Lane) float64 {
	rate := t.plan[name]
	if lane := t.Find(name); lane != nil && t.windows > 0 {
		var due uint64
		for _, phase := range lane.phases {
			due += phase.due
		}
		rate = max(rate, float64(due)/(t.To-t.from).Seconds())
	}
	return rate
}

// limit is how long workers that take turns may have sent nothing: until the next request is due, plus the longest pause that does
// not count as a pause of the harness.
func (b blindness) limit(workers int) time.Duration {
	return time.Duration(workers)*b.interval + evidence.Standstill
}

// apart is how far requests may be apart without unseen time between them.
func (b blindness) apart() time.Duration { return max(farApart, farApartIntervals*b.interval) }

// shortest is how long an outage must have lasted to hit a request at any time.
func (b blindness) shortest() time.Duration { return b.longest.length + b.step }

// doubts reports a load that was missing for too long at a time, or too often.
func (b blindness) doubts() (d verdict.Missing) {
	if b.workers == 0 || b.endless {
		return nil // which is reported elsewhere
	}
	switch {
	case b.watched <= 0:
		d.Add("the record shows no load on %s after the first fault began", b.lane)
	case b.uncounted:
		d.Add("there are more than %d lanes of workers in the record, so when each of them sent requests on %s is unknown", maxSends, b.lane)
	case b.longest.length > b.limit(1):
		d.Add("no request was sent on %s for %s from %s, so an outage of more than %s could go unseen",
			b.lane, prose.Moment(b.longest.length), prose.Moment(b.longest.from), prose.Moment(b.limit(1)))
	case b.workers > 1 && b.still.length > b.limit(b.workers):
		d.Add("%s sent no request on %s for %s from %s, so an outage of more than %s at its node could go unseen",
			b.who, b.lane, prose.Moment(b.still.length), prose.Moment(b.still.from), prose.Moment(b.limit(b.workers)))
	}
	if b.unsent > 1 && float64(b.unsent) > mostUnsent*float64(b.due) {
		d.Add("%d of %s due on %s since the first fault began were not sent, and at most %s may be unsent",
			b.unsent, prose.Count(b.due, "request"), b.lane, prose.Percent(mostUnsent))
	}
	if b.unseen > mostUnseen {
		d.Add("the requests on %s were sent in bursts: for %s of the time since the first fault began none had been sent for %s or more, "+
			"and %s is the most", b.lane, prose.Percent(b.unseen), prose.Moment(b.apart()), prose.Percent(mostUnseen))
	}
	return d
}

func (b blindness) numbers(v *verdict.Verdict) {
	lane := string(b.lane)
	v.Measure("blindSeconds."+lane, b.longest.length.Seconds())
	v.Measure("shortestOutageSeenSeconds."+lane, b.shortest().Seconds())
	v.Measure("unseenShare."+lane, b.unseen)
	v.Measure("unsent."+lane, float64(b.unsent))
}

// Seen describes which outages the lanes of a promise would have noticed.
func (t *Stats) Seen(lanes []history.Lane) string {
	var worst blindness
	var due, unsent uint64
	for _, lane := range lanes {
		b := t.blind(lane)
		due, unsent = due+b.due, unsent+b.unsent
		if worst.lane == "" || b.longest.length > worst.longest.length {
			worst = b
		}
	}
	text := fmt.Sprintf("longest time without a request sent: %s on %s; an outage of %s would have hit a request",
		prose.Moment(worst.longest.length), worst.lane, prose.Moment(worst.shortest()))
	if len(lanes) > 1 {
		text += " on each lane"
	}
	if unsent > 0 {
		text += fmt.Sprintf("; %d of %s not sent", unsent, prose.Count(due, "request"))
	}
	return text
}
