package collect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
)

const (
	// maxUnsentRows is the largest number of generated rows in a segment: some 2 MB, like other segments.
	maxUnsentRows = 20_000
	// packBytes is how much is packed at a time, in about 0.3 ms, before other goroutines may send requests that are due.
	packBytes = 64 << 10
	// maxListed keeps a list short enough for every proxy.
	maxListed = 1000
)

// segmentStore keeps closed segments, numbered from 1, until they are collected. Their content is package history's CSV, packed by
// gzip, whose checksum shows a reader that it is complete.
type segmentStore struct {
	mu       sync.Mutex
	last     int // number of the last segment
	segments []segment
	packer   *gzip.Writer // used by Put, which is not called concurrently
}

type segment struct {
	Segment
	packed []byte
	unsent load.UnsentRows // if N > 0, the rows are generated when they are read
}

// Put implements load.Segments.
func (s *segmentStore) Put(csv []byte, rows int) error {
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
	s.add(segment{Segment: Segment{Rows: rows}, packed: bytes.Clone(to.Bytes())})
	return nil
}

func packTo(packer *gzip.Writer, csv []byte) error {
	for part := range slices.Chunk(csv, packBytes) {
		if _, err := packer.Write(part); err != nil {
			return err
		}
		runtime.Gosched()
	}
	return packer.Close()
}

// PutUnsent implements load.Segments. It makes segments of at most maxUnsentRows.
func (s *segmentStore) PutUnsent(whole load.UnsentRows) {
	for whole.N > 0 {
		part := whole
		part.N = min(whole.N, maxUnsentRows)
		s.add(segment{Segment: Segment{Rows: int(part.N)}, unsent: part})
		whole.First += part.N
		whole.N -= part.N
	}
}

func (s *segmentStore) add(one segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	one.N = s.last
	s.segments = append(s.segments, one)
}

// after returns at most maxListed segments with a higher number than n.
func (s *segmentStore) after(n int) []Segment {
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

// get returns a segment by its number.
func (s *segmentStore) get(n int) (segment, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(n)
	if i < 0 {
		return segment{}, false
	}
	return s.segments[i], true
}

func (s *segmentStore) index(n int) int {
	return slices.IndexFunc(s.segments, func(one segment) bool { return one.N == n })
}

// remove drops a segment if it exists, and returns how many rows in memory that frees. Unsent rows were never in memory.
func (s *segmentStore) remove(n int) (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.index(n)
	if i < 0 {
		return 0
	}
	one := s.segments[i]
	s.segments = append(s.segments[:i:i], s.segments[i+1:]...)
	if one.unsent.N > 0 {
		return 0
	}
	return one.Rows
}

// empty reports whether all segments were collected.
func (s *segmentStore) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.segments) == 0
}

// writeTo writes a segment's packed content.
func (one *segment) writeTo(w io.Writer) error {
	if one.unsent.N == 0 {
		_, err := w.Write(one.packed)
		return err
	}
	packer := gzip.NewWriter(w)
	encoder := history.NewEncoder()
	buffer := encoder.AppendHeader(nil)
	for k := one.unsent.First; k < one.unsent.First+one.unsent.N; k++ {
		buffer = encoder.Append(buffer, one.unsent.Row(k))
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
