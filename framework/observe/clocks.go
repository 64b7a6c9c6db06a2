package observe

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// clockReading is what the clocks of a machine show at a moment.
type clockReading struct {
	Running time.Duration // of the clock that runs only while the machine does; a record's offsets are of this clock
	Boot    time.Duration // of the clock that runs also while the machine is suspended
	Wall    time.Duration // of the clock that people and NTP set
}

const (
	// slept is the least difference between two clocks that counts. Within a second, only a suspended machine or a clock that is set moves
	// them so far apart.
	slept = 2 * time.Second
	// atOnce is the longest time between the first and the last clock of a reading.
	atOnce = 100 * time.Millisecond
)

// watchClocks keeps a gap whenever this machine was suspended or its clock was set, until ctx ends. Nothing watched the cluster meanwhile, and the
// record's clock stood still: what happened may be in the record, but not when, and requests may have failed that were never sent.
func watchClocks(ctx context.Context, read func() clockReading, now func() history.Offset, keep func(history.Event)) {
	was, at := read(), now()
	for over := false; !over; {
		over = poll.Pass(ctx, time.Second) != nil
		is := read()
		if why := is.since(was); why != "" {
			keep(history.Event{T: now(), Gap: &history.Gap{What: "all objects", Since: at, Why: why}})
		}
		was, at = is, now()
	}
}

// since says what has moved the clocks apart; empty: nothing.
func (c clockReading) since(was clockReading) string {
	passed := c.Running - was.Running
	suspended := c.Boot - was.Boot - passed
	switch set := c.Wall - was.Wall - passed - suspended; {
	case suspended > slept:
		return fmt.Sprintf("this machine was suspended for %s", suspended.Round(time.Second))
	case set > slept: // as after the pause of a virtual machine, whose kernel does not notice
		return fmt.Sprintf("the clock of this machine was moved forward by %s: it was suspended, or its clock was set", set.Round(time.Second))
	}
	return ""
}

// readClocks reads the clocks of this machine. It reads them again if it was stopped in between.
func readClocks() clockReading {
	for {
		c := clockReading{Running: clockAt(runningClock), Boot: clockAt(bootClock), Wall: clockAt(unix.CLOCK_REALTIME)}
		if clockAt(runningClock)-c.Running < atOnce {
			return c
		}
	}
}

// clockAt is what a clock shows; zero if the system does not have it.
func clockAt(clock int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(clock, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
