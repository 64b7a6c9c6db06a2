package reports

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// axis picks what a timeline shows: the time under load, or without load the time from the deployment on, and a margin on each side.
// Provisioning is left out, because it can last longer than everything else and shows nothing.
func axis(run history.Run, begin, end history.Offset) (from, to history.Offset) {
	from, to = begin, end
	if deploy, _, ok := run.Window(history.Deploy); ok {
		from = deploy
	}
	if drained, _, ok := run.Window(history.Drained); ok {
		to = min(to, drained+margin(drained-from))
	}
	if steady, _, ok := run.Window(history.Steady); ok {
		from = max(from, steady-margin(to-steady))
	}
	return from, max(to, from+time.Millisecond)
}

func margin(shown time.Duration) time.Duration {
	const share = 15 // about 7 %: room for a label
	return shown / share
}

// bounds are the times of the first and the last event of a record. The header is no event of the run.
func bounds(events []history.Event) (begin, end history.Offset) {
	for i := range events {
		if events[i].Header == nil {
			begin = events[i].T
			break
		}
	}
	for i := range events {
		end = max(end, events[i].T)
	}
	return min(begin, end), end
}

// Began is the first known moment of a fault, or zero.
func (f *Fault) Began() history.Offset {
	if t := cmp.Or(f.Injecting, f.Seen, f.Healing, f.Healed); t != nil {
		return history.Offset(*t)
	}
	return 0
}

// Ended is when a fault was seen reverted, or end if it never was.
func (f *Fault) Ended(end history.Offset) history.Offset {
	if f.Healed == nil {
		return end
	}
	return history.Offset(*f.Healed)
}
