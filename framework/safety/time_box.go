package disturb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // holdfast is one static file, and its machine may have no time zones
)

// undoing is how long the undo of a fault may take, beside its box. Before each fault the window is asked again, so that what comes between two of them
// does not lead out of it.
const undoing = 2 * time.Minute

// maxAhead is how far the clock of this machine may be off: deadlines and Leases are compared across machines.
const maxAhead = 10 * time.Second

var timeBox = Rule{
	Number: 12, ID: "time-box",
	Promise: "each fault is undone after 5 minutes unless the file says otherwise, all of them together take at most 2 hours, and none is outside the window",
	run:     checkTimeBox,
}

func checkTimeBox(s *sight) {
	box := s.Limits.Duration
	sum := box * time.Duration(max(1, len(s.Faults)*len(s.Workloads)))
	switch {
	case box < MinDuration || box > MaxDuration:
		s.refuse(s.cluster(), "change disturb.duration in the file", "a fault may last %s: want %s to %s", box, MinDuration, MaxDuration)
	case sum > MaxDuration:
		s.refuse(s.cluster(), "name fewer faults, or shorten disturb.duration in the file", "all faults together may last %s, which is more than %s", sum, MaxDuration)
	}
	if ahead := s.Ahead.Abs(); ahead > maxAhead {
		s.refuse(s.cluster(), "set the clock of this machine", "the clock of this machine and that of the API server differ by %s", ahead.Round(time.Second))
	}
	w := s.Limits.Window
	if w == nil {
		return
	}
	if err := w.Validate(); err != nil {
		s.refuse(s.cluster(), "correct disturb.window in the file", "%s", err)
		return
	}
	until := sum + undoing // at its end, the last fault is undone
	if !w.Has(s.Taken, until) {
		s.refuse(s.cluster(), "run it in that window", "it may last until %s, and the window is %s", s.Taken.Add(until).UTC().Format("Mon 15:04 MST"), w)
	}
}

// Window is when the cluster may be disturbed, in the time zone of its people.
type Window struct {
	Days     []string // Mon, Tue, ...; none: every day
	From, To string   // such as 09:00 and 16:30; To is later than From
	Zone     string   // such as Europe/Berlin; empty: UTC
}

// days are the names of the days.
var days = []string{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"}

const clockLayout = "15:04"

// Validate returns an error for a window that no moment is in.
func (w Window) Validate() error {
	for _, d := range w.Days {
		if !slices.Contains(days, d) {
			return fmt.Errorf("window: day %q: want one of %s", d, strings.Join(days, ", "))
		}
	}
	from, to, zone, err := w.parsed()
	if err != nil {
		return err
	}
	if !to.After(from) {
		return fmt.Errorf("window: it ends at %s and begins at %s: want an end that is later; a window over midnight is two windows", w.To, w.From)
	}
	_ = zone
	return nil
}

func (w Window) parsed() (from, to time.Time, zone *time.Location, err error) {
	from, errFrom := time.Parse(clockLayout, w.From)
	to, errTo := time.Parse(clockLayout, w.To)
	if errFrom != nil || errTo != nil {
		return from, to, nil, fmt.Errorf("window: from %q to %q: want times such as 09:00 and 16:30", w.From, w.To)
	}
	if w.Zone == "Local" { // it would be another one on each machine
		return from, to, nil, errors.New("window: zone \"Local\": want a time zone such as Europe/Berlin")
	}
	zone, err = time.LoadLocation(w.Zone)
	if err != nil {
		return from, to, nil, fmt.Errorf("window: zone %q: want a time zone such as Europe/Berlin: %w", w.Zone, err)
	}
	return from, to, zone, nil
}

// Has reports whether a span of time that begins at a moment is within the window.
func (w Window) Has(at time.Time, span time.Duration) bool {
	from, to, zone, err := w.parsed()
	if err != nil {
		return false
	}
	local := at.In(zone)
	if len(w.Days) > 0 && !slices.Contains(w.Days, days[local.Weekday()]) {
		return false
	}
	on := func(clock time.Time) time.Time {
		return time.Date(local.Year(), local.Month(), local.Day(), clock.Hour(), clock.Minute(), 0, 0, zone)
	}
	return !local.Before(on(from)) && !local.Add(span).After(on(to))
}

// String is "Mon, Tue 09:00 to 16:30 Europe/Berlin".
func (w Window) String() string {
	text := fmt.Sprintf("%s to %s %s", w.From, w.To, w.zone())
	if len(w.Days) > 0 {
		text = strings.Join(w.Days, ", ") + " " + text
	}
	return text
}

func (w Window) zone() string {
	if w.Zone == "" {
		return "UTC"
	}
	return w.Zone
}
