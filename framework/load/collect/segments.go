package collect

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
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
// gzip, whose checksum shows a reader that it is complete. Segments that memory has no room for are on disk.
type segmentStore struct {
	spill   Spill
	spilled func(rows int) // told of rows that are on disk; nil: nobody is

	mu       sync.Mutex
	last     int // number of the last segment
	segments []segment
	inMemory int64 // bytes
	inFiles  int64
	packer   *gzip.Writer // used by Put, which is not called concurrently
}

type segment struct {
	Segment
	packed []byte
	file   string          // where it is, if it is on disk
	bytes  int64           // its size there
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
	s.keep(segment{Segment: Segment{Rows: rows}, packed: bytes.Clone(to.Bytes())})
	return nil
}

// keep adds a segment in memory, or on disk if memory has no room for it. If the disk has no room either, it stays in memory: then the
// worker's limit of rows ends the load, and each hit that is not sent is recorded as such.
func (s *segmentStore) keep(one segment) {
	s.mu.Lock()
	memory, files, number := s.inMemory, s.inFiles, s.last+1
	s.mu.Unlock()
	file, size := s.spill.write(number, one.packed, memory, files)
	if file != "" {
		one.packed, one.file, one.bytes = nil, file, size
	}
	s.add(one)
	if file != "" && s.spilled != nil {
		s.spilled(one.Rows)
	}
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
		var part load.UnsentRows
		part, whole = whole.Cut(maxUnsentRows)
		s.add(segment{Segment: Segment{Rows: int(part.N)}, unsent: part})
	}
}

func (s *segmentStore) add(one segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	one.N = s.last
	s.inMemory, s.inFiles = s.inMemory+int64(len(one.packed)), s.inFiles+one.bytes
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
	i := slices.IndexFunc(s.segments, func(one segment) bool { return one.N == n })
	if i < 0 {
		return segment{}, false
	}
	return s.segments[i], true
}

// removeUpTo drops the segments up to a number, and returns how many rows in memory that frees. Unsent rows, and those on disk, were
// not in memory.
func (s *segmentStore) removeUpTo(n int) (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.segments[:0]
	for _, one := range s.segments {
		switch {
		case one.N > n:
			kept = append(kept, one)
			continue
		case one.file != "":
			s.spill.remove(one.file)
		case one.unsent.N == 0:
			rows += one.Rows
		}
		s.inMemory, s.inFiles = s.inMemory-int64(len(one.packed)), s.inFiles-one.bytes
	}
	clear(s.segments[len(kept):])
	s.segments = kept
	return rows
}

// onDisk is how many rows are on disk.
func (s *segmentStore) onDisk() (rows int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.segments {
		if one.file != "" {
			rows += one.Rows
		}
	}
	return rows
}

// empty reports whether all segments were collected.
func (s *segmentStore) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.segments) == 0
}

// load reads a segment that is on disk.
func (one *segment) load() (err error) {
	if one.file == "" {
		return nil
	}
	if one.packed, err = os.ReadFile(one.file); err != nil {
		return err
	}
	if n := int64(len(one.packed)); n != one.bytes {
		return fmt.Errorf("%s has %d bytes, and had %d", one.file, n, one.bytes)
	}
	return nil
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
	for i := range one.unsent.N {
		buffer = encoder.Append(buffer, one.unsent.Row(i))
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
