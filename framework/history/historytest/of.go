package historytest

import "github.com/holdfast-ha/holdfast/framework/history"

// Of returns a Builder with the content of a record, for tests that edit real records. Run then adds no Clock and no
// LoadTotals, so those of the record stay unless they are edited. The error is one of reading the requests.
func Of(run history.Run) (*Builder, error) {
	b := New().WithoutTotals()
	b.header, b.incomplete = run.Header, run.Incomplete
	b.events = nil
	for _, e := range run.Events {
		if e.Header == nil {
			b.events = append(b.events, e)
		}
	}
	copyPayloads(b.events)
	b.requests = nil
	if run.Requests == nil {
		return b, nil
	}
	for r, err := range run.Requests() {
		if err != nil {
			return nil, err
		}
		b.requests = append(b.requests, *r)
	}
	return b, nil
}

// Requests returns all requests added so far, in the order of adding; they may be edited in place.
func (b *Builder) Requests() []history.Request { return b.requests }

// Events returns all events added so far except the header, in the order of adding; they may be edited in place.
func (b *Builder) Events() []history.Event { return b.events }

// Retotal makes the record's LoadTotals match its rows, as someone who edits a record by hand would.
func (b *Builder) Retotal() *Builder {
	at := lastT(b.events)
	b.DropEvents(func(e history.Event) bool { return e.Load != nil })
	for _, e := range totals(b.requests, at) {
		if e.Load != nil {
			b.events = append(b.events, e)
		}
	}
	return b
}
