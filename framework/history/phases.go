package history

import "slices"

// PhaseSpan is a phase with its beginning and its end, the end excluded.
type PhaseSpan struct {
	Name     PhaseName
	From, To Offset
}

// Phases lists the phases in the order in which they began. The last one ends with the record's last event.
func (r Run) Phases() []PhaseSpan {
	var spans []PhaseSpan
	for _, e := range r.Events {
		if n := len(spans); n > 0 {
			spans[n-1].To = e.T
		}
		if e.Phase != nil {
			spans = append(spans, PhaseSpan{Name: e.Phase.Name, From: e.T, To: e.T})
		}
	}
	// Every event moved the end of the current phase, so each phase ends where the next one begins.
	return spans
}

// Window is the time of a phase, the end excluded; of the first one if the phase occurs several times. ok is false if it
// does not occur.
func (r Run) Window(name PhaseName) (from, to Offset, ok bool) {
	for _, span := range r.Phases() {
		if span.Name == name {
			return span.From, span.To, true
		}
	}
	return 0, 0, false
}

// UnderLoad is the time from the beginning of Steady to the end of Recovered, the end excluded: verdicts count the requests
// that are due in this time. A record that was cut off before Drained is under load forever; one without Steady never was.
func (r Run) UnderLoad() (from, to Offset) {
	const never = Offset(1<<63 - 1)
	steady, _, ok := r.Window(Steady)
	if !ok {
		return never, never
	}
	if drained, _, ok := r.Window(Drained); ok {
		return steady, drained
	}
	return steady, never
}

// Interrupted is where the scenario was interrupted; empty if it was not. If it was, missing events are explained by the
// interruption and do not count as missing evidence.
func (r Run) Interrupted() string {
	for _, e := range r.Events {
		if e.Trouble == nil || !e.Trouble.Interrupted {
			continue
		}
		for _, phase := range slices.Backward(r.Phases()) {
			if phase.Name != Drained { // in Drained the results are collected, however the scenario ended
				return "interrupted in the phase " + string(phase.Name)
			}
		}
		return "interrupted before it was deployed"
	}
	return ""
}
