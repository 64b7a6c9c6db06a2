package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// EventsFile and RequestsFolder are the names in a scenario's folder.
const (
	EventsFile     = "events.jsonl"
	RequestsFolder = "requests"
)

// endTail is the end of the end line, after the digits of its checksum.
const endTail = "\"}}\n"

// Writer records one scenario. Its methods are safe for concurrent use. Data reaches the operating system before the call
// returns, so nothing is lost if the harness is killed (a power failure may lose data). After a write error the Writer
// rejects everything and leaves the record without its end line, so the record reads as incomplete.
type Writer struct {
	dir  string
	base time.Time

	mu       sync.Mutex
	file     io.WriteCloser
	lines    uint64
	checksum uint32
	last     Offset // the latest T
	err      error  // why writing ended
	broken   chan struct{}
	closing  bool
	closed   bool
	requests map[string]*RequestWriter

	header  Header         // as it was given
	rotates bool           // see rotate
	limit   int64          // MaxEventsBytes, except in tests
	bytes   int64          // in the current file
	files   int            // that are closed
	packing sync.WaitGroup // files that are being compressed
	next    map[string]int // the number of each worker's next requests file, in a record that is continued
}

// errClosed is the error of a closed Writer.
var errClosed = errors.New("the record is closed")

// Create starts a record in dir, which is created if necessary and must not contain a record. Create sets Header.Format,
// and Header.Base if it is zero. A given base should come from time.Now and keep its monotonic clock reading. The files of a recording
// (Header.Recorded) are rotated, and closed ones are compressed, because it may last for days.
func Create(dir string, header Header) (*Writer, error) {
	if header.Base.IsZero() {
		header.Base = time.Now()
	}
	header.Format = FormatVersion
	w := newWriter(dir, header)
	if w.rotates {
		header.Format = RotatedVersion
	}
	w.header = header
	if err := os.MkdirAll(filepath.Join(dir, RequestsFolder), 0o755); err != nil {
		return nil, fmt.Errorf("create record: %w", err)
	}
	name := filepath.Join(dir, EventsFile)
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create record: %s holds one already: choose another folder", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("create record: %w", err)
	}
	w.file = file
	if err := w.write(Event{Header: &header}); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return w, nil
}

func newWriter(dir string, header Header) *Writer {
	return &Writer{
		dir: dir, base: header.Base, broken: make(chan struct{}), requests: make(map[string]*RequestWriter), rotates: header.Recorded != nil, limit: MaxEventsBytes,
	}
}

// Base is the time of offset zero.
func (w *Writer) Base() time.Time { return w.base }

// Now is the current offset.
func (w *Writer) Now() Offset { return time.Since(w.base) }

// Append records an event at its T. The order of calls does not matter, because readers sort by T.
func (w *Writer) Append(e Event) error {
	if e.Header != nil || e.End != nil {
		return errors.New("append event: header and end are the writer's own")
	}
	return w.write(e)
}

func (w *Writer) write(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("append event: %w", err)
	}
	if len(line) >= maxLineBytes {
		return fmt.Errorf("append event: %d bytes exceed the maximum line length of %d", len(line)+1, maxLineBytes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.last = max(w.last, e.T)
	return w.line(append(line, '\n'))
}

// line writes a complete line. The caller holds the lock.
func (w *Writer) line(line []byte) error {
	if _, err := w.file.Write(line); err != nil {
		return w.breaks(writeError(filepath.Join(w.dir, EventsFile), err))
	}
	w.lines++
	w.bytes += int64(len(line))
	w.checksum = Checksum(w.checksum, line)
	if w.rotates && w.bytes >= w.limit && !w.closing {
		return w.rotate()
	}
	return nil
}

// fail makes the record permanently incomplete. The first error is kept.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return w.breaks(err)
	}
	return err
}

// breaks stores why nothing more can be written. The caller holds the lock.
func (w *Writer) breaks(err error) error {
	w.err = err
	close(w.broken)
	return err
}

// Broken is closed when the record can no longer be completed, for example because the disk is full; Err is then the
// reason. Anything that happens after that is not recorded and proves nothing.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Err is the error that ended writing; nil if there is none.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close closes all requests files and writes the end line, which completes the record. If the Writer has failed before, or
// fails now, the record stays incomplete and Close returns the error. Closing again does nothing.
func (w *Writer) Close() error {
	for _, r := range w.beginClosing() {
		r.close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.err
	if err == nil {
		err = w.end()
	}
	if closeErr := w.file.Close(); err == nil && closeErr != nil {
		err = writeError(filepath.Join(w.dir, EventsFile), closeErr)
	}
	w.err = errClosed
	w.packing.Wait()
	return err
}

// beginClosing returns the open requests files and prevents new ones.
func (w *Writer) beginClosing() []*RequestWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	return slices.SortedFunc(maps.Values(w.requests), func(a, b *RequestWriter) int {
		return strings.Compare(a.worker, b.worker)
	})
}

// end writes the end line. Its checksum covers everything before the checksum's own digits, so no byte of the file can
// change unnoticed.
func (w *Writer) end() error {
	line, err := json.Marshal(Event{T: max(w.Now(), w.last), End: &End{Lines: w.lines}})
	if err != nil {
		return fmt.Errorf("close record: %w", err)
	}
	line = line[:len(line)+1-len(endTail)] // up to where the checksum's digits go
	sum := Checksum(w.checksum, line)
	return w.line(fmt.Appendf(line, "%08x%s", sum, endTail))
}

// MaxEventsBytes is the size at which the file of a recording's events is closed and compressed.
const MaxEventsBytes = 8 << 20

// nextSuffix marks the file of events that is about to take the place of the current one.
const nextSuffix = ".next"

// rotate closes the file of events and begins another one. At each moment EventsFile is a whole file that says what it continues: if the
// process is killed in between, the closed file is there once more, under the name that it had. The caller holds the lock.
func (w *Writer) rotate() error {
	current := filepath.Join(w.dir, EventsFile)
	closed := filepath.Join(w.dir, filepath.FromSlash(closedEvents(w.files)))
	header := w.header
	header.Continued = &Continued{Files: w.files + 1, Lines: w.lines, Checksum: fmt.Sprintf("%08x", w.checksum)}
	line, err := json.Marshal(Event{Header: &header})
	if err != nil {
		return w.breaks(fmt.Errorf("rotate events: %w", err))
	}
	line = append(line, '\n')
	next, err := beginFile(current+nextSuffix, line)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(closed), 0o755), linkAgain(current, closed), os.Rename(current+nextSuffix, current), w.file.Close())
	}
	if err != nil {
		return w.breaks(writeError(current+nextSuffix, err))
	}
	w.file, w.files, w.bytes, w.lines = next, w.files+1, 0, w.lines+1
	w.checksum = Checksum(w.checksum, line)
	w.pack(closed)
	return nil
}

// pack compresses a closed file, if the record is rotated. A file that cannot be compressed, because the disk is full, stays as it is, and
// loses nothing.
func (w *Writer) pack(name string) {
	if w.rotates {
		w.packing.Go(func() { _ = packFile(name) })
	}
}
