package history

// Gaps lists the events with a Gap that overlaps [from, to). A gap lasts from its Since until the event's T.
func (r Run) Gaps(from, to Offset) []Event {
	var gaps []Event
	for _, e := range r.Events {
		if e.Gap != nil && e.Gap.Since < to && e.T >= from {
			gaps = append(gaps, e)
		}
	}
	return gaps
}

// Troubles lists the events with a Trouble.
func (r Run) Troubles() []Event {
	var troubles []Event
	for _, e := range r.Events {
		if e.Trouble != nil {
			troubles = append(troubles, e)
		}
	}
	return troubles
}
