package history

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// openSuffix marks a requests file that is still being written.
const openSuffix = ".open"

// MaxSegmentBytes is the size at which a requests file is closed automatically: a reader reads a whole file into memory,
// and ideally into the CPU's cache.
const MaxSegmentBytes = 2 << 20

// Reorder is how much later than its neighbours a request may be handed over: a record orders requests by Done. A load worker hands
// them over in that order, but the offset of its clock is corrected now and then. What waits for it takes memory for each worker.
const Reorder = 400 * time.Millisecond

// RequestWriter records the requests of one load worker, in a sequence of files. Its methods are safe for concurrent use.
type RequestWriter struct {
	run    *Writer
	worker string

	mu      sync.Mutex
	waiting []Request // handed over but not yet written, ordered by Done
	written Offset    // Done of the last written request
	closed  bool

	encoder *Encoder
	buffer  []byte
	next    int // number of the next file
	file    io.WriteCloser
	segment Segment // content of file so far
	sum     uint32
}

var workerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// Requests returns the writer for the requests of a load worker, the same writer at every call. The worker's name becomes
// part of file names.
func (w *Writer) Requests(worker string) (*RequestWriter, error) {
	if !workerName.MatchString(worker) {
		return nil, fmt.Errorf("record requests: invalid load worker name %.120q", worker)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, w.err
	}
	if w.closing {
		return nil, errClosed
	}
	r := w.requests[worker]
	if r == nil {
		r = &RequestWriter{run: w, worker: worker, encoder: NewEncoder(), next: w.next[worker]}
		w.requests[worker] = r
	}
	return r, nil
}

// Append records requests; their Worker may be empty. They may be out of order, among themselves and relative to earlier
// calls, by up to Reorder: requests that are too recent wait in memory until the next Append, or until the Writer is
// closed. A request that is handed over later than that is an error, and leaves the record incomplete.
func (r *RequestWriter) Append(requests ...Request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil {
		return err
	}
	inOrder := true
	for i := range requests {
		request := requests[i]
		if request.Worker == "" {
			request.Worker = r.worker
		}
		if request.Worker != r.worker {
			return r.run.fail(fmt.Errorf("record requests: a request of worker %q was passed to the writer of %q", request.Worker, r.worker))
		}
		if request.Done < r.written {
			return r.run.fail(fmt.Errorf("record requests: a request of worker %s, done at %v, came %v too late",
				r.worker, request.Done, r.written-request.Done))
		}
		if n := len(r.waiting); n > 0 && request.Done < r.waiting[n-1].Done {
			inOrder = false
		}
		r.waiting = append(r.waiting, request)
	}
	if !inOrder {
		slices.SortStableFunc(r.waiting, byDone)
	}
	if len(r.waiting) == 0 {
		return nil
	}
	return r.release(r.waiting[len(r.waiting)-1].Done - Reorder)
}

func byDone(a, b Request) int { return cmp.Compare(a.Done, b.Done) }

func (r *RequestWriter) usable() error {
	if r.closed {
		return errClosed
	}
	return r.run.Err()
}

// Roll closes the current file, if there is one, and records its segment. The next request starts a new file.
func (r *RequestWriter) Roll() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.usable(); err != nil {
		return err
	}
	return r.roll()
}

// close writes the waiting requests and closes the file. An error fails the Writer.
func (r *RequestWriter) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	if r.run.Err() == nil && r.releaseAll() == nil && r.roll() == nil {
		return
	}
	if r.file != nil {
		_ = r.file.Close() // the first error matters
	}
}

func (r *RequestWriter) releaseAll() error {
	if len(r.waiting) == 0 {
		return nil
	}
	return r.release(r.waiting[len(r.waiting)-1].Done)
}

// release writes the requests that were done at or before until.
func (r *RequestWriter) release(until Offset) error {
	n := 0
	for n < len(r.waiting) && r.waiting[n].Done <= until {
		if err := r.add(&r.waiting[n]); err != nil {
			return err
		}
		n++
	}
	r.waiting = slices.Delete(r.waiting, 0, n)
	return r.flush()
}

// add appends a row to the buffer, and closes the file when it is large enough.
func (r *RequestWriter) add(request *Request) error {
	if r.segment.Rows == 0 {
		r.buffer = r.encoder.AppendHeader(r.buffer[:0])
	}
	r.buffer = r.encoder.Append(r.buffer, request)
	r.segment.Rows++
	r.written = request.Done
	if r.segment.Bytes+int64(len(r.buffer)) < MaxSegmentBytes {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	return r.roll()
}

// flush passes the buffer to the operating system.
func (r *RequestWriter) flush() error {
	if len(r.buffer) == 0 {
		return nil
	}
	if r.file == nil {
		r.segment.File = fmt.Sprintf("%s-%05d.csv", r.worker, r.next)
		file, err := os.OpenFile(r.path()+openSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return r.run.fail(writeError(r.path()+openSuffix, err))
		}
		r.file = file
		r.next++
	}
	if _, err := r.file.Write(r.buffer); err != nil {
		return r.run.fail(writeError(r.path()+openSuffix, err))
	}
	r.segment.Bytes += int64(len(r.buffer))
	r.sum = Checksum(r.sum, r.buffer)
	r.buffer = r.buffer[:0]
	return nil
}

func (r *RequestWriter) path() string {
	return filepath.Join(r.run.dir, RequestsFolder, r.segment.File)
}

// roll closes the file. The buffer must be empty.
func (r *RequestWriter) roll() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	if err == nil {
		err = os.Rename(r.path()+openSuffix, r.path())
	}
	if err != nil {
		return r.run.fail(writeError(r.path(), err))
	}
	segment, path := r.segment, r.path()
	segment.Checksum = fmt.Sprintf("%08x", r.sum)
	r.file, r.segment, r.sum = nil, Segment{}, 0
	err = r.run.Append(Event{T: r.run.Now(), Segment: &segment})
	r.run.pack(path)
	return err
}
