package history

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
)

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

// load reads a file completely and verifies its size and checksum. Of a file that was not closed it returns the complete
// rows.
func (r *requestReading) load(fsys fs.FS, file requestFile) ([]byte, error) {
	opened, err := fsys.Open(file.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = opened.Close() }() // only read
	info, err := opened.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size > maxReadBytes {
		return nil, fmt.Errorf("has %d bytes, but a requests file has at most %d", size, maxReadBytes)
	}
	if int64(cap(r.buffer)) < size {
		r.buffer = make([]byte, size+size/8) // usually enough for all following files
	}
	data := r.buffer[:size]
	if _, err := io.ReadFull(opened, data); err != nil {
		return nil, err
	}
	if file.segment == nil {
		return data[:bytes.LastIndexByte(data, '\n')+1], nil
	}
	if size != file.segment.Bytes {
		return nil, fmt.Errorf("has %d bytes, but had %d when it was closed", size, file.segment.Bytes)
	}
	if sum := fmt.Sprintf("%08x", crc32.Checksum(data, castagnoli)); sum != file.segment.Checksum {
		return nil, fmt.Errorf("has checksum %s, but had %.8s when it was closed: it was changed", sum, file.segment.Checksum)
	}
	return data, nil
}
