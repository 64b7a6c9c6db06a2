package history

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// lineReader reads lines of at most maxLineBytes.
type lineReader struct {
	from *bufio.Reader
	long []byte // a line that does not fit into the buffer of from
}

// newLineReader returns a lineReader.
func newLineReader(from io.Reader) *lineReader { return &lineReader{from: bufio.NewReader(from)} }

// Next returns a line with its newline, valid until the next call. It returns io.EOF after the last line, and errCutOff if
// the last line has no newline.
func (l *lineReader) Next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if len(l.long)+len(part) > maxLineBytes {
			return nil, errLongLine
		}
		switch {
		case err == nil && len(l.long) == 0:
			return part, nil
		case errors.Is(err, io.EOF) && len(l.long)+len(part) > 0:
			return nil, errCutOff
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		l.long = append(l.long, part...)
		if err == nil {
			return l.long, nil
		}
	}
}

const (
	// mostBytes is the memory for events of about three weeks of a cluster with 150 nodes and 3,000 pods.
	mostBytes = 2 << 30
	// besideText is what an event takes beside its text.
	besideText = 256
)

// room bounds the memory that the lines of files take, of which a few bytes on a disk can be many. The zero value has room for mostBytes.
type room struct {
	Most  int64 // bytes; 0: mostBytes
	taken int64
}

// Take returns an error if there is no room for what a line says.
func (r *room) Take(line []byte) error {
	most := cmp.Or(r.Most, mostBytes)
	if r.taken += int64(len(line)) + besideText; r.taken > most {
		return fmt.Errorf("does not fit: with it the events take more than %d KiB of memory, and what follows is not read", most>>10)
	}
	return nil
}
