package history

import "iter"

// bind lists the columns of a requests file, in order. No other code defines their names.
func bind(r *Request) []column {
	return []column{
		{Name: "worker", Required: true, Text: &r.Worker},
		{Name: "lane", Required: true, Text: (*string)(&r.Lane)},
		{Name: "seq", Required: true, Count: &r.Seq},
		{Name: "due_ns", Required: true, Signed: (*int64)(&r.Due)},
		{Name: "sent_ns", Required: true, Signed: (*int64)(&r.Sent)},
		{Name: "done_ns", Required: true, Signed: (*int64)(&r.Done)},
		{Name: "outcome", Required: true, Text: (*string)(&r.Outcome)},
		{Name: "status", Number: &r.Status},
		{Name: "attempts", Number: &r.Attempts},
		{Name: "body_bytes", Signed: &r.Bytes},
		{Name: "conn", Count: &r.Conn},
		{Name: "reused", Flag: &r.Reused},
		{Name: "addr", Text: &r.Addr},
		{Name: "pod", Text: &r.Pod},
		{Name: "node", Text: &r.Node},
		{Name: "zone", Text: &r.Zone},
		{Name: "revision", Text: &r.Revision},
		{Name: "inferred", Flag: &r.Inferred},
		{Name: "gateway_tries", Number: &r.GatewayTries},
		{Name: "err", Text: &r.Err},
	}
}

// Encoder writes requests as CSV: a header row whose column names contain the units, then one line for each request. Times are
// nanoseconds since the run's base, flags are 0 or 1; see appendRow. An Encoder is not safe for concurrent use.
type Encoder struct {
	row     Request
	columns []column
}

// NewEncoder returns an Encoder.
func NewEncoder() *Encoder {
	e := &Encoder{}
	e.columns = bind(&e.row)
	return e
}

// AppendHeader appends the header row to dst.
func (e *Encoder) AppendHeader(dst []byte) []byte { return appendHeader(dst, e.columns) }

// Append appends the row of r to dst.
func (e *Encoder) Append(dst []byte, r *Request) []byte {
	e.row = *r
	return appendRow(dst, e.columns)
}

// DecodeRequests reads what an Encoder wrote. Columns are identified by their names in the header row. Unknown columns are
// skipped, and missing optional columns are zero. The Request is valid only until the next iteration. An error contains the
// number of the row (the header row is row 1) and ends the sequence. A last row without a newline is an error.
func DecodeRequests(csv []byte) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		d := newDecoder()
		if err := d.header(csv); err != nil {
			yield(nil, err)
			return
		}
		for d.More() {
			if err := d.Next(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&d.row, nil) {
				return
			}
		}
	}
}

// decoder reads all rows into the same Request.
type decoder struct {
	*rowDecoder
	row Request
}

func newDecoder() *decoder {
	d := &decoder{}
	d.rowDecoder = newRowDecoder(bind(&d.row))
	return d
}

// header starts a new file.
func (d *decoder) header(csv []byte) error {
	d.row = Request{}
	return d.Header(csv)
}
