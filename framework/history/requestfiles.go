package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// requestFiles are a record's requests files, in the order in which to read them.
type requestFiles struct {
	files    []requestFile
	problems []string // why the record is incomplete
}

// requestFile is one requests file. A file without a segment was left behind by a killed harness and may be cut off.
type requestFile struct {
	path    string // below the scenario's folder
	name    string // for messages
	segment *Segment
}

// findRequests pairs the segments in the events with the existing files, without reading the files.
func findRequests(fsys fs.FS, dir string, events []Event) (*requestFiles, error) {
	found := &requestFiles{}
	listed := make(map[string]bool)
	for _, e := range events {
		if e.Segment == nil {
			continue
		}
		file := requestFile{path: path.Join(RequestsFolder, e.Segment.File), segment: e.Segment}
		file.name = filepath.Join(dir, RequestsFolder, e.Segment.File)
		if err := file.check(fsys); err != nil {
			found.problems = append(found.problems, err.Error())
		}
		if listed[e.Segment.File] {
			found.problems = append(found.problems, file.name+" is listed twice")
			continue
		}
		listed[e.Segment.File] = true
		found.files = append(found.files, file)
	}
	return found, found.addLeftovers(fsys, dir, listed)
}

// check compares the file with its segment, as far as possible without reading the file.
func (f requestFile) check(fsys fs.FS) error {
	if f.segment.File != path.Base(f.path) || !fs.ValidPath(f.path) {
		return fmt.Errorf("invalid name %q of a requests file", f.segment.File)
	}
	size, err := packedSize(fsys, f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing, with %d requests", f.name, f.segment.Rows)
	}
	if err != nil {
		return err
	}
	if size >= 0 && size != f.segment.Bytes {
		return fmt.Errorf("%s has %d bytes, but had %d when it was closed", f.name, size, f.segment.Bytes)
	}
	return nil
}

// addLeftovers adds files that a killed harness had not closed or not listed yet.
func (f *requestFiles) addLeftovers(fsys fs.FS, dir string, listed map[string]bool) error {
	entries, err := fs.ReadDir(fsys, RequestsFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, entry := range entries { // ReadDir sorts by name
		base, whole := unpackedName(entry.Name())
		if !whole || listed[base] || !strings.HasSuffix(strings.TrimSuffix(base, openSuffix), ".csv") {
			continue
		}
		listed[base] = true
		file := requestFile{path: path.Join(RequestsFolder, base), name: filepath.Join(dir, RequestsFolder, base)}
		f.files = append(f.files, file)
		f.problems = append(f.problems, file.name+" is not listed as closed: requests may be missing")
	}
	return nil
}

// requests reads all files one after the other and checks each file before it returns its first row. Memory is bounded by
// the largest file, not by the number of files.
func (f *requestFiles) requests(fsys fs.FS) Requests {
	return func() iter.Seq2[*Request, error] {
		return func(yield func(*Request, error) bool) {
			reading := requestReading{decoder: newDecoder(), last: make(map[string]Offset)}
			for _, file := range f.files {
				more, err := reading.file(fsys, file, yield)
				if err != nil {
					yield(nil, fmt.Errorf("read requests: %s: %w", file.name, err))
					return
				}
				if !more {
					return
				}
			}
		}
	}
}

// requestReading is one pass over all files.
type requestReading struct {
	decoder *decoder
	buffer  []byte
	last    map[string]Offset // Done of each worker's last request
}

// file yields the rows of one file. It returns false if the consumer wants no more rows.
func (r *requestReading) file(fsys fs.FS, file requestFile, yield func(*Request, error) bool) (bool, error) {
	data, err := r.load(fsys, file)
	if err != nil {
		return false, err
	}
	if file.segment == nil && len(data) == 0 {
		return true, nil // killed before the first row was complete
	}
	if err := r.decoder.header(data); err != nil {
		return false, err
	}
	var rows uint64
	row := &r.decoder.row
	worker, done := "", Offset(0)
	for r.decoder.more() {
		if err := r.decoder.next(); err != nil {
			return false, err
		}
		if row.Worker != worker {
			r.last[worker] = done
			worker, done = row.Worker, r.last[row.Worker]
		}
		if row.Done < done {
			return false, fmt.Errorf("row %d: done at %v, after one that was done at %v", r.decoder.line, row.Done, done)
		}
		done = row.Done
		rows++
		if !yield(row, nil) {
			return false, nil
		}
	}
	r.last[worker] = done
	if file.segment != nil && rows != file.segment.Rows {
		return false, fmt.Errorf("has %d requests, but had %d when it was closed", rows, file.segment.Rows)
	}
	return true, nil
}

// maxReadBytes is the maximum size of a requests file that is read: many times the size of what a Writer makes.
const maxReadBytes = 32 * MaxSegmentBytes

// readAll reads a file into the buffer, which is enough for the following files, too.
func (r *requestReading) readAll(from io.Reader) ([]byte, error) {
	data := r.buffer[:0]
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, max(MaxSegmentBytes/8, cap(data)))
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		r.buffer = data
		switch {
		case len(data) > maxReadBytes:
			return nil, fmt.Errorf("has more bytes than the %d that a requests file has at most", maxReadBytes)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// load reads a file completely, compressed or not, and verifies its size and checksum. Of a file that was not closed it returns the complete
// rows.
func (r *requestReading) load(fsys fs.FS, file requestFile) ([]byte, error) {
	opened, err := openPacked(fsys, file.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	data, err := r.readAll(opened)
	if err != nil {
		return nil, err
	}
	size := int64(len(data))
	if file.segment == nil {
		return data[:bytes.LastIndexByte(data, '\n')+1], nil
	}
	if size != file.segment.Bytes {
		return nil, fmt.Errorf("has %d bytes, but had %d when it was closed", size, file.segment.Bytes)
	}
	if sum := fmt.Sprintf("%08x", Checksum(0, data)); sum != file.segment.Checksum {
		return nil, fmt.Errorf("has checksum %s, but had %.8s when it was closed: it was changed", sum, file.segment.Checksum)
	}
	return data, nil
}
