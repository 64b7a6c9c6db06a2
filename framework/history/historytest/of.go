package historytest

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

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

// Copy returns another Builder with the same content, which costs less than to read the record again.
func (b *Builder) Copy() *Builder {
	c := *b
	c.requests = b.lend()
	c.lent = true
	c.events = slices.Clone(b.events)
	copyPayloads(c.events)
	return &c
}

// lend returns all requests added so far, for one who does not edit them. Requests that are added later are not among them.
func (b *Builder) lend() []history.Request {
	b.lent = true
	return slices.Clip(b.requests)
}

// own makes the requests editable: what was lent stays as it is.
func (b *Builder) own() {
	if b.lent {
		b.requests, b.lent = slices.Clone(b.requests), false
	}
}

// Requests returns all requests added so far, in the order of adding; they may be edited in place until the next Run or Copy.
func (b *Builder) Requests() []history.Request {
	b.own()
	return b.requests
}

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

// copyPayloads copies each event's payload, so that a returned run does not change when the Builder is used further. Maps
// and slices within payloads are shared, because nothing edits them in place.
func copyPayloads(events []history.Event) {
	for i := range events {
		e := &events[i]
		e.Header, e.Phase, e.Fault = clone(e.Header), clone(e.Phase), clone(e.Fault)
		e.Step = clone(e.Step)
		e.Pod, e.Node, e.Workload, e.Server = clone(e.Pod), clone(e.Node), clone(e.Workload), clone(e.Server)
		e.Slice, e.Budget, e.Eviction = clone(e.Slice), clone(e.Budget), clone(e.Eviction)
		e.Audit, e.Admission, e.Warning = clone(e.Audit), clone(e.Admission), clone(e.Warning)
		e.KubeNote, e.Gap, e.Clock = clone(e.KubeNote), clone(e.Gap), clone(e.Clock)
		e.Noise, e.Echo, e.Gateway = clone(e.Noise), clone(e.Echo), clone(e.Gateway)
		e.Reach, e.Share = clone(e.Reach), clone(e.Share)
		e.Load, e.Segment, e.Trouble = clone(e.Load), clone(e.Segment), clone(e.Trouble)
		e.End, e.Resumed = clone(e.End), clone(e.Resumed)
	}
}

func clone[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
