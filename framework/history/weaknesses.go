package history

// Gaps lists the events that carry a Gap which overlaps the time from (included) until to (excluded). A gap begins at
// its Since and ends at the event's T.
func (r Run) Gaps(from, to Offset) []Event {
	var gaps []Event
	for _, e := range r.Events {
		if e.Gap != nil && e.Gap.Since < to && e.T >= from {
			gaps = append(gaps, e)
		}
	}
	return gaps
}

// Troubles lists the events that carry a Trouble.
func (r Run) Troubles() []Event {
	var troubles []Event
	for _, e := range r.Events {
		if e.Trouble != nil {
			troubles = append(troubles, e)
		}
	}
	return troubles
}
