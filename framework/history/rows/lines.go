package rows

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
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

const (
	// mostBytes is the memory for events of about three weeks of a cluster with 150 nodes and 3,000 pods.
	mostBytes = 2 << 30
	// BesideText is what an event takes beside its text.
	BesideText = 256
)

// Room bounds the memory that the lines of files take, of which a few bytes on a disk can be many. The zero value has room for mostBytes.
type Room struct {
	Most  int64 // bytes; 0: mostBytes
	taken int64
}

// Take returns an error if there is no room for what a line says.
func (r *Room) Take(line []byte) error {
	most := cmp.Or(r.Most, mostBytes)
	if r.taken += int64(len(line)) + BesideText; r.taken > most {
		return fmt.Errorf("does not fit: with it the events take more than %d KiB of memory, and what follows is not read", most>>10)
	}
	return nil
}
