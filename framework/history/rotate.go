package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
