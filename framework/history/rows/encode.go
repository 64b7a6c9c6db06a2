package rows

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxTextBytes is the maximum length of a text in a file. No error message needs more, and a row stays far
// below MaxLineBytes.
const MaxTextBytes = 4096

// AppendHeader appends the header row to dst: the names of the columns.
func AppendHeader(dst []byte, columns []Column) []byte {
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, columns[i].Name...)
	}
	return append(dst, '\n')
}

// Append appends the current values of the columns to dst, as one row. Control characters in texts become spaces, invalid UTF-8
// becomes U+FFFD, and texts are cut at MaxTextBytes.
func Append(dst []byte, columns []Column) []byte {
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = columns[i].appendTo(dst)
	}
	return append(dst, '\n')
}

func (c *Column) appendTo(dst []byte) []byte {
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
	s = Clean(s)
	if !strings.ContainsAny(s, `,"`) {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// Clean is s in the form that a file can contain; a clean text is unchanged.
func Clean(s string) string {
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
