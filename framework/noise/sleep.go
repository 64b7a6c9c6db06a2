package noise

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

// clocks are the clocks of this machine at a moment.
type clocks struct {
	monotonic time.Duration // runs only while the machine does; a record's offsets are of this clock
	boot      time.Duration // runs also while it is suspended
	wall      time.Duration // is set by people and by NTP
}

// slept is the least difference between two clocks that counts: nothing but a suspended machine, or somebody who sets the clock, moves them apart
// so far within a second.
const slept = 2 * time.Second

// Sleeps keeps a gap, until ctx ends, whenever this machine was suspended or its clock was set. Nothing watched the cluster meanwhile, and the
// record's clock stood still: what happened may be in the record, but not when, and requests may have failed that were never sent.
func Sleeps(ctx context.Context, now func() history.Offset, keep func(history.Event)) {
	sleeps(ctx, readClocks, now, keep)
}

func sleeps(ctx context.Context, read func() clocks, now func() history.Offset, keep func(history.Event)) {
	was, at := read(), now()
	for poll.Pass(ctx, time.Second) == nil {
		is := read()
		if why := is.since(was); why != "" {
			keep(history.Event{T: now(), Gap: &history.Gap{What: "all objects", Since: at, Why: why}})
		}
		was, at = is, now()
	}
}

// since says what has moved the clocks apart; empty: nothing.
func (c clocks) since(was clocks) string {
	passed := c.monotonic - was.monotonic
	suspended := c.boot - was.boot - passed
	switch set := c.wall - was.wall - passed - suspended; {
	case suspended > slept:
		return fmt.Sprintf("this machine was suspended for %s", suspended.Round(time.Second))
	case set > slept: // as after the pause of a virtual machine, whose kernel does not notice
		return fmt.Sprintf("the clock of this machine was moved forward by %s: it was suspended, or its clock was set", set.Round(time.Second))
	}
	return ""
}

func readClocks() (c clocks) {
	for clock, into := range map[int32]*time.Duration{runningClock: &c.monotonic, bootClock: &c.boot, unix.CLOCK_REALTIME: &c.wall} {
		var at unix.Timespec
		if unix.ClockGettime(clock, &at) == nil {
			*into = time.Duration(at.Nano())
		}
	}
	return c
}
