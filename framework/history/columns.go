package history

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

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
// nanoseconds since the run's base, flags are 0 or 1. An Encoder is not safe for concurrent use.
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
		for d.more() {
			if err := d.next(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&d.row, nil) {
				return
			}
		}
	}
}

// A row never spans lines, so that line-based tools can read the files. encoding/csv allocates each field, and is several times slower.

// column connects a column of a file with a field of the caller. Exactly one pointer is set.
type column struct {
	Name     string // including the unit, if it has one
	Required bool   // a file without the column is not a file of such rows; other columns may be missing

	Text   *string
	Signed *int64
	Count  *uint64
	Number *int
	Flag   *bool // 0 or 1, so that every tool can sum them
}

// maxTextBytes is the maximum length of a text in a file. No error message needs more, and a row stays far
// below maxLineBytes.
const maxTextBytes = 4096

// AppendHeader appends the header row to dst: the names of the columns.
func (e *Encoder) AppendHeader(dst []byte) []byte {
	for i := range e.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.columns[i].Name...)
	}
	return append(dst, '\n')
}

// Append appends the row of r to dst. Control characters in texts become spaces, invalid UTF-8 becomes U+FFFD, and texts are cut at maxTextBytes.
func (e *Encoder) Append(dst []byte, r *Request) []byte {
	e.row = *r
	for i := range e.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.columns[i].appendTo(dst)
	}
	return append(dst, '\n')
}

func (c *column) appendTo(dst []byte) []byte {
	switch {
	case c.Text != nil:
		return appendText(dst, *c.Text)
	case c.Signed != nil:
		return strconv.AppendInt(dst, *c.Signed, 10)
	case c.Count != nil:
		return strconv.AppendUint(dst, *c.Count, 10)
	case c.Number != nil:
		return strconv.AppendInt(dst, int64(*c.Number), 10)
	case *c.Flag:
		return append(dst, '1')
	default:
		return append(dst, '0')
	}
}

// appendText has a fast path for nearly all texts: short, printable ASCII that needs no quotes.
func appendText(dst []byte, s string) []byte {
	if len(s) > maxTextBytes {
		return appendOddText(dst, s)
	}
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == ',' || c == '"' {
			return appendOddText(dst, s)
		}
	}
	return append(dst, s...)
}

func appendOddText(dst []byte, s string) []byte {
	s = cleanText(s)
	if !strings.ContainsAny(s, `,"`) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// cleanText is s in the form that a file can contain; a clean text is unchanged.
func cleanText(s string) string {
	s = strings.Map(func(r rune) rune { // Map also turns invalid UTF-8 into U+FFFD
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) <= maxTextBytes {
		return s
	}
	end := maxTextBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
