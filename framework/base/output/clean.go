package output

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// cleaned is a writer of text for a person.
type cleaned struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte // the beginning of a character whose other bytes have not come
}

// Clean writes text to a terminal, or to a log that is shown on one, without what moves its cursor, hides or reorders text, sets its title, or writes to its
// clipboard: names, messages and whole records come from other people. Such characters are written as JSON escapes them, so that JSON stays what it is.
func Clean(to io.Writer) io.Writer { return &cleaned{to: to} }

// Line is a text, which may be another client's, in one line: what follows a line break could be taken for a line of holdfast's own.
func Line(text string) string { return strings.ReplaceAll(text, "\n", `\n`) }

// Raw is the writer that a clean one writes to: for what is no text, for a command of the user's own, and for lines that are overwritten.
func Raw(w io.Writer) io.Writer {
	if c, is := w.(*cleaned); is {
		return c.to
	}
	return w
}

// Write implements io.Writer.
func (c *cleaned) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := slices.Concat(c.rest, p)
	c.rest = nil
	clean := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && size == 1 && !utf8.FullRune(text):
			c.rest, text = append(c.rest, text...), nil
			continue
		case r == utf8.RuneError && size == 1:
			clean = utf8.AppendRune(clean, r)
		case commands(r):
			clean = fmt.Appendf(clean, `\u%04x`, r)
		default:
			clean = append(clean, text[:size]...)
		}
		text = text[size:]
	}
	if _, err := c.to.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// commands reports whether a terminal does something at a character, in place of showing it: controls (C0 and C1), separators of lines, and marks of
// direction.
func commands(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r <= 0x9f:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}
