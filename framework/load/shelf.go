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
	// spanRows is the most rows of a segment that is made of a span: some 2 MB, like other segments.
	spanRows = 20_000
	// packBytes is how much is packed in one go, about 0.3 ms, before requests that are due get their turn.
	packBytes = 64 << 10
)

// shelf keeps closed segments, numbered from 1, until they are collected. Their content is CSV as package history
// writes it, packed by gzip, whose checksum tells a reader that it is whole.
type shelf struct {
	mu       sync.Mutex
	last     int // number given
	segments []shelved
	packer   *gzip.Writer // used by whoever seals, one at a time
}

type shelved struct {
	Segment
	packed []byte
	span   span // with n > 0, the rows are made when they are asked for
	done   history.Offset
}

// put shelves CSV.
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

// putSpan shelves a span, in parts that can be read at once.
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

// after lists at most maxListed of the segments with a higher number than n.
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

// maxListed keeps a list of segments to a size that every proxy lets through.
const maxListed = 1000

// get finds a segment.
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

// remove drops a segment, if it is still there, and tells how many rows that had room go with it.
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

// empty tells whether everything was collected.
func (s *shelf) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.segments) == 0
}

// writeTo writes the packed content.
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
