package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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

// appendHeader appends the header row to dst: the names of the columns.
func appendHeader(dst []byte, columns []column) []byte {
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, columns[i].Name...)
	}
	return append(dst, '\n')
}

// appendRow appends the current values of the columns to dst, as one row. Control characters in texts become spaces, invalid UTF-8
// becomes U+FFFD, and texts are cut at maxTextBytes.
func appendRow(dst []byte, columns []column) []byte {
	for i := range columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = columns[i].appendTo(dst)
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
