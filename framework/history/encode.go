package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTextBytes is the maximum length of a text field in a requests file. No error message needs more, and a row stays far
// below MaxLineBytes.
const MaxTextBytes = 4096

// Encoder writes requests as CSV: a header row whose column names contain the units, then one line per request. Times are
// nanoseconds since the run's base, flags are 0 or 1. A row never spans lines, so line-based tools can read the file:
// control characters in texts become spaces, invalid UTF-8 becomes U+FFFD, and texts are cut at MaxTextBytes. An Encoder is
// not safe for concurrent use.
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
func (e *Encoder) AppendHeader(dst []byte) []byte {
	for i := range e.columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.columns[i].name...)
	}
	return append(dst, '\n')
}

// Append appends the row of r to dst.
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
	case c.text != nil:
		return appendText(dst, *c.text)
	case c.signed != nil:
		return strconv.AppendInt(dst, *c.signed, 10)
	case c.count != nil:
		return strconv.AppendUint(dst, *c.count, 10)
	case c.number != nil:
		return strconv.AppendInt(dst, int64(*c.number), 10)
	case *c.flag:
		return append(dst, '1')
	default:
		return append(dst, '0')
	}
}

// appendText has a fast path for nearly all texts: short, printable ASCII that needs no quotes.
func appendText(dst []byte, s string) []byte {
	if len(s) > MaxTextBytes {
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

// cleanText is s in the form that a requests file can contain; a clean text is unchanged.
func cleanText(s string) string {
	s = strings.Map(func(r rune) rune { // Map also turns invalid UTF-8 into U+FFFD
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) <= MaxTextBytes {
		return s
	}
	end := MaxTextBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
