package history

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
)

// EventsFolder is where a recording keeps the events that EventsFile had no more room for: closed files, numbered from 0, that are compressed.
// EventsFile continues the last of them. Each file begins with the header, so that it can be read by itself.
const EventsFolder = "events"

// Continued is what the files before a file contain.
type Continued struct {
	Files    int    `json:"files"`
	Lines    uint64 `json:"lines"`    // their headers included
	Checksum string `json:"checksum"` // CRC-32C of all of them, as they were before they were compressed, hexadecimal
}

// closedEvents is the name of a closed file of events.
func closedEvents(number int) string {
	return path.Join(EventsFolder, fmt.Sprintf("%05d.jsonl", number))
}

// readAll reads all files of events, the closed ones first. It returns an error only if there is no record that this version can read.
func (l *eventLog) readAll(fsys fs.FS, dir string) error {
	last, err := fsys.Open(EventsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no %s in %s: give a scenario's folder, <run>/<suite>/<scenario>", EventsFile, dir)
	}
	if err != nil {
		return err
	}
	defer func() { _ = last.Close() }() // only read
	l.name = filepath.Join(dir, EventsFile)
	header, err := headerOf(fsys)
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s is empty: nothing was recorded", l.name)
	case err != nil:
		return fmt.Errorf("%s:1: %w", l.name, err)
	}
	before := 0
	if header.Continued != nil {
		before = header.Continued.Files
	}
	for i := range before {
		if !l.readClosed(fsys, dir, i) {
			if l.header == nil {
				l.header = header
				l.header.Continued = nil
			}
			return nil
		}
	}
	l.name = filepath.Join(dir, EventsFile)
	return l.read(last)
}

// headerOf is the header of the last file.
func headerOf(fsys fs.FS) (*Header, error) {
	file, err := fsys.Open(EventsFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	line, err := newLineReader(file).Next()
	if err != nil {
		return nil, err
	}
	l := eventLog{line: 1}
	if err := l.take(line); err != nil {
		return nil, err
	}
	if l.header == nil {
		return nil, errors.New("is not the header of a record")
	}
	return l.header, nil
}

// readClosed reads a closed file. It returns false if the rest of the record proves nothing, for the reason that it adds to the problems.
func (l *eventLog) readClosed(fsys fs.FS, dir string, number int) bool {
	name := closedEvents(number)
	l.name = filepath.Join(dir, filepath.FromSlash(name))
	file, err := openPacked(fsys, name)
	if err != nil {
		what := err.Error()
		if errors.Is(err, fs.ErrNotExist) {
			what = "is missing"
		}
		l.problems = append(l.problems, l.name+": "+what)
		return false
	}
	defer func() { _ = file.Close() }() // only read
	whole, err := l.readFile(file)
	if err != nil {
		l.problems = append(l.problems, err.Error())
		return false
	}
	if whole && number == 0 && l.header.Continued != nil {
		l.problems = append(l.problems, l.name+" continues files before it, but it is the first")
		l.header.Continued, whole = nil, false
	}
	if whole && l.ended {
		l.problems = append(l.problems, l.name+" ends the record, but it is not the last file")
	}
	return whole && !l.ended
}
