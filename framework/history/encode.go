package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTextBytes is how much of a text field a requests file keeps: no error message is worth more, and a row stays far
// below what a reader takes.
const MaxTextBytes = 4096

// Encoder writes requests as CSV: a header row whose names carry the units, then one line a request. Times are
// nanoseconds since the run's base, flags are 0 or 1. A row never spans lines, so that line tools can read it too:
// control characters in texts become spaces, bytes that are not UTF-8 become U+FFFD, and texts end at MaxTextBytes. It
// is not for use by several goroutines at once.
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

// appendText takes the short way for what nearly every text is: short, printable ASCII that needs no quotes.
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

// cleanText is s as a requests file can hold it; what is clean stays as it is.
func cleanText(s string) string {
	s = strings.Map(func(r rune) rune { // which also turns bytes that are not UTF-8 into U+FFFD
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
