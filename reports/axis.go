package reports

import (
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// axis picks what a timeline shows: the time under load, or, without one, from the deployment on; and a little on each
// side, so that how it began and ended can be seen. Provisioning can last longer than all the rest and shows nothing.
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
	const share = 15 // about 7 %: enough to read a label in, too little to squeeze the rest
	return shown / share
}

// bounds are the first and the last moment of a record, its header left out: that tells of what was asked.
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

// moments are the stages of a fault that it may not have reached: nil where it did not.
type moments struct{ injecting, seen, lasting, healing, healed *history.Offset }

func momentsOf(f *history.FaultLife) moments {
	at := func(m *history.Moment) *history.Offset {
		if !m.OK {
			return nil
		}
		return &m.At
	}
	return moments{at(&f.Injecting), at(&f.Seen), at(&f.Lasting), at(&f.Healing), at(&f.Healed)}
}

// began is the first moment known of a fault, or zero.
func began(f *history.FaultLife) history.Offset {
	m := momentsOf(f)
	if t := or(m.injecting, m.seen, m.healing, m.healed); t != nil {
		return *t
	}
	return 0
}

// ended is when a fault was seen healed, or end when it never was.
func ended(f *history.FaultLife, end history.Offset) history.Offset {
	if !f.Healed.OK {
		return end
	}
	return f.Healed.At
}

// or is the first moment that is known.
func or(list ...*history.Offset) *history.Offset {
	for _, m := range list {
		if m != nil {
			return m
		}
	}
	return nil
}
