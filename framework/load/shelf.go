package load

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// spanRows is the largest number of rows of a span's segment: some 2 MB, like other segments.
	spanRows = 20_000
	// packBytes is how much is packed at a time, in about 0.3 ms, before other goroutines may send requests that are due.
	packBytes = 64 << 10
)

// shelf keeps closed segments, numbered from 1, until they are collected. Their content is package history's CSV, packed by
// gzip, whose checksum shows a reader that it is complete.
type shelf struct {
	mu       sync.Mutex
	last     int // number of the last segment
	segments []shelved
	packer   *gzip.Writer // used by seal, which is not called concurrently
}

type shelved struct {
	Segment
	packed []byte
	span   span // if n > 0, the rows are generated when they are read
	done   history.Offset
}

// put adds CSV as a segment.
func (s *shelf) put(csv []byte, rows int) error {
	var to bytes.Buffer
	if s.packer == nil {
		packer, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
		if err != nil {
			return fmt.Errorf("pack segment: %w", err)
		}
		s.packer = packer
	}
	s.packer.Reset(&to)
	if err := packTo(s.packer, csv); err != nil {
		return fmt.Errorf("pack segment: %w", err)
	}
	s.add(shelved{Segment: Segment{Rows: rows}, packed: bytes.Clone(to.Bytes())})
	return nil
}

func packTo(packer *gzip.Writer, csv []byte) error {
	for len(csv) > 0 {
		n := min(len(csv), packBytes)
		if _, err := packer.Write(csv[:n]); err != nil {
			return err
		}
		csv = csv[n:]
		runtime.Gosched()
	}
	return packer.Close()
}

// putSpan adds a span, in segments of at most spanRows.
func (s *shelf) putSpan(whole span, done history.Offset) {
	for whole.n > 0 {
		part := whole
		part.n = min(whole.n, spanRows)
		s.add(shelved{Segment: Segment{Rows: int(part.n)}, span: part, done: done})
		whole.first += part.n
		whole.n -= part.n
	}
}

func (s *shelf) add(one shelved) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	one.N = s.last
	s.segments = append(s.segments, one)
}

// after returns at most maxListed segments with a higher number than n.
func (s *shelf) after(n int) []Segment {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Segment{}
	for _, one := range s.segments {
		if one.N > n && len(list) < maxListed {
			list = append(list, one.Segment)
		}
	}
	return list
}

// maxListed keeps a list short enough for every proxy.
const maxListed = 1000

// get returns a segment by its number.
func (s *shelf) get(n int) (shelved, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.segments {
		if one.N == n {
			return one, true
		}
	}
	return shelved{}, false
}

// remove drops a segment if it exists, and returns how many stored rows that frees. Rows of a span were never stored.
func (s *shelf) remove(n int) (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.segments {
		if one.N != n {
			continue
		}
		s.segments = append(s.segments[:i:i], s.segments[i+1:]...)
		if one.span.n == 0 {
			return one.Rows
		}
	}
	return 0
}

// empty reports whether all segments were collected.
func (s *shelf) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.segments) == 0
}

// writeTo writes a segment's packed content.
func (one *shelved) writeTo(w io.Writer) error {
	if one.span.n == 0 {
		_, err := w.Write(one.packed)
		return err
	}
	packer := gzip.NewWriter(w)
	encoder := history.NewEncoder()
	buffer := encoder.AppendHeader(nil)
	l := one.span.lane
	for k := one.span.first; k < one.span.first+one.span.n; k++ {
		buffer = encoder.Append(buffer, &history.Request{
			Worker: l.worker, Lane: l.Lane.Lane, Seq: k, Due: l.due(k), Done: one.done,
			Outcome: history.Unsent, Err: unsentFull,
		})
		if len(buffer) > packBytes {
			if _, err := packer.Write(buffer); err != nil {
				return err
			}
			buffer = buffer[:0]
		}
	}
	if _, err := packer.Write(buffer); err != nil {
		return err
	}
	return packer.Close()
}
