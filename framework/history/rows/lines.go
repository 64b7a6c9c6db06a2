package rows

import (
	"bufio"
	"errors"
	"io"
)

// LineReader reads lines of at most MaxLineBytes.
type LineReader struct {
	from *bufio.Reader
	long []byte // a line that does not fit into the buffer of from
}

// NewLineReader returns a LineReader.
func NewLineReader(from io.Reader) *LineReader { return &LineReader{from: bufio.NewReader(from)} }

// Next returns a line with its newline, valid until the next call. It returns io.EOF after the last line, and ErrCutOff if
// the last line has no newline.
func (l *LineReader) Next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if len(l.long)+len(part) > MaxLineBytes {
			return nil, ErrLongLine
		}
		switch {
		case err == nil && len(l.long) == 0:
			return part, nil
		case errors.Is(err, io.EOF) && len(l.long)+len(part) > 0:
			return nil, ErrCutOff
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		l.long = append(l.long, part...)
		if err == nil {
			return l.long, nil
		}
	}
}
