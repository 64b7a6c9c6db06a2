package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
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

// EventsFile and RequestsFolder are the names of what lies in a scenario's folder.
const (
	EventsFile     = "events.jsonl"
	RequestsFolder = "requests"
)

// endTail is how an end line ends, after the digits of its checksum.
const endTail = "\"}}\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Writer records one scenario. Its methods may be called by several goroutines at once. Everything it is given reaches
// the operating system before the call returns, so that a killed harness loses nothing of it (a machine that loses
// power may). After an error of writing it refuses all further work and leaves the record without its last line: such a
// record reads as incomplete.
type Writer struct {
	dir  string
	base time.Time

	mu       sync.Mutex
	file     io.WriteCloser
	lines    uint64
	checksum uint32
	last     Offset // the latest T
	err      error  // what ended the writing
	broken   chan struct{}
	closing  bool
	closed   bool
	requests map[string]*RequestWriter
}

// errClosed is what a closed Writer answers.
var errClosed = errors.New("the record is closed")

// Create begins a record in dir, which is made if need be and must not hold one yet. Header.Format is set, and so is
// Header.Base when it is zero; a base that is given should come from time.Now, with its monotonic reading.
func Create(dir string, header Header) (*Writer, error) {
	if header.Base.IsZero() {
		header.Base = time.Now()
	}
	header.Format = FormatVersion
	w := &Writer{dir: dir, base: header.Base, broken: make(chan struct{}), requests: make(map[string]*RequestWriter)}
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

// Base is the moment of offset zero.
func (w *Writer) Base() time.Time { return w.base }

// Now is the present moment.
func (w *Writer) Now() Offset { return time.Since(w.base) }

// Append records an event, at the T that it has. The order of calls does not matter to a reader.
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
	if len(line) >= MaxLineBytes {
		return fmt.Errorf("append event: %d bytes are more than a line may have (%d)", len(line)+1, MaxLineBytes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.last = max(w.last, e.T)
	return w.line(append(line, '\n'))
}

// line writes a whole line. The caller holds the lock.
func (w *Writer) line(line []byte) error {
	if _, err := w.file.Write(line); err != nil {
		return w.breaks(writeError(filepath.Join(w.dir, EventsFile), err))
	}
	w.lines++
	w.checksum = crc32.Update(w.checksum, castagnoli, line)
	return nil
}

// fail makes the record one that stays incomplete. The first reason stands.
func (w *Writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		return w.breaks(err)
	}
	return err
}

// breaks keeps why nothing can be written any more. The caller holds the lock.
func (w *Writer) breaks(err error) error {
	w.err = err
	close(w.broken)
	return err
}

// Broken is closed when the record can no longer become whole, such as on a full disk; Err then says why. Whatever is done
// after that proves nothing.
func (w *Writer) Broken() <-chan struct{} { return w.broken }

// Err is what ended the writing, if anything did.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close closes all files of requests and writes the last line, which makes the record whole. A record that failed
// before, or fails now, stays incomplete, and Close says why. Closing again does nothing.
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
	return err
}

// beginClosing lists the open files of requests and keeps new ones from being begun.
func (w *Writer) beginClosing() []*RequestWriter {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	return slices.SortedFunc(maps.Values(w.requests), func(a, b *RequestWriter) int {
		return strings.Compare(a.worker, b.worker)
	})
}

// end writes the last line. Its checksum covers all that stands before the checksum's own digits, so that no byte of
// the file can change unnoticed.
func (w *Writer) end() error {
	line, err := json.Marshal(Event{T: max(w.Now(), w.last), End: &End{Lines: w.lines}})
	if err != nil {
		return fmt.Errorf("close record: %w", err)
	}
	line = line[:len(line)+1-len(endTail)] // up to where the digits belong
	sum := crc32.Update(w.checksum, castagnoli, line)
	return w.line(fmt.Appendf(line, "%08x%s", sum, endTail))
}

// writeError says what to do about an error of writing.
func writeError(name string, err error) error {
	var named *fs.PathError
	if errors.As(err, &named) {
		err = named.Err // the name is said once
	}
	return fmt.Errorf("write %s: %w: the record stays incomplete; make room or choose another disk, and run again",
		name, err)
}
