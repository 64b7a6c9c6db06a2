package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Open reads the record in a scenario's folder: its events immediately, its requests on demand. A folder without a record,
// or with one of a newer format, is an error. Damage is not an error: Open returns what can be read, and Run.Incomplete
// says what is missing.
func Open(dir string) (Run, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	if !info.IsDir() {
		return Run{}, fmt.Errorf("open record: %s is a file: give the scenario's folder", dir)
	}
	return OpenFS(os.DirFS(dir), dir)
}

// OpenFS is Open for any file system whose root is the scenario's folder; dir is its name in messages.
func OpenFS(fsys fs.FS, dir string) (Run, error) {
	log := eventLog{}
	if err := log.readAll(fsys, dir); err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	slices.SortStableFunc(log.events, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
	files, err := findRequests(fsys, dir, log.events)
	if err != nil {
		return Run{}, fmt.Errorf("open record: %w", err)
	}
	return Run{
		Header:     *log.header,
		Events:     log.events,
		Requests:   files.requests(fsys),
		Incomplete: reasons(append(log.problems, files.problems...)),
	}, nil
}

// reasons joins the first few problems.
func reasons(problems []string) string {
	const most = 5
	if n := len(problems); n > most {
		problems = append(problems[:most:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(problems, "; ")
}

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
	line, err := newLineReader(file).next()
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

// eventLog is the content of events.jsonl.
type eventLog struct {
	name     string // for messages
	header   *Header
	events   []Event
	problems []string // why the record is incomplete

	line     uint64 // the current line, from 1; of all files, which are read as one
	checksum uint32 // of the lines before the current one
	ended    bool

	files int           // that were read whole
	first bool          // the current line is the first of its file
	bytes int64         // of the whole lines of the current file
	keep  func(e Event) // what is done with an event; nil: it is added to events
	room  room          // for events
	texts internPool
}

// read reads the lines of the last file.
func (l *eventLog) read(from io.Reader) error {
	whole, err := l.readFile(from)
	if err != nil || !whole {
		return err
	}
	if l.header == nil {
		return fmt.Errorf("%s is empty: nothing was recorded", l.name)
	}
	if !l.ended {
		l.problems = append(l.problems, fmt.Sprintf(
			"%s has no end line after line %d: the harness was killed, or is still running", l.name, l.line))
	}
	return nil
}

// readFile reads lines up to the first damaged one: events after damage could be misinterpreted. It returns false if there is one, and
// an error only if the file is not a record that this version can read.
func (l *eventLog) readFile(from io.Reader) (whole bool, err error) {
	lines := newLineReader(from)
	l.first, l.bytes = true, 0
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) {
			l.files++
			return true, nil
		}
		l.line++
		if err == nil {
			err = l.take(line)
		}
		if err == nil {
			l.first, l.bytes = false, l.bytes+int64(len(line))
			continue
		}
		err = fmt.Errorf("%s:%d: %w", l.name, l.line, err)
		if l.header == nil {
			return false, err
		}
		l.problems = append(l.problems, err.Error())
		l.line--
		return false, nil
	}
}

// take processes one line, including its newline.
func (l *eventLog) take(line []byte) error {
	if l.ended {
		return errors.New("comes after the last line")
	}
	if l.line == 1 {
		if err := checkFormat(line); err != nil {
			return err
		}
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return fmt.Errorf("is damaged: %w", err)
	}
	switch {
	case l.line == 1:
		l.header = e.Header
	case e.Header != nil && l.first && e.Header.Continued != nil:
		if err := l.continues(*e.Header.Continued); err != nil {
			return err
		}
		l.checksum = Checksum(l.checksum, line)
		return nil
	case e.Header != nil, l.first:
		return errors.New("is a second header, or none")
	case e.End != nil:
		if err := l.checkEnd(line, *e.End); err != nil {
			return err
		}
	}
	l.checksum = Checksum(l.checksum, line)
	internEvent(&l.texts, &e)
	if l.keep != nil {
		l.keep(e)
		return nil
	}
	if err := l.room.take(line); err != nil {
		return err
	}
	l.events = append(l.events, e)
	return nil
}

// continues compares what a file continues with what was read before it.
func (l *eventLog) continues(c Continued) error {
	if sum := fmt.Sprintf("%08x", l.checksum); c.Files != l.files || c.Lines != l.line-1 || c.Checksum != sum {
		return fmt.Errorf("continues %d files with %d lines of checksum %.8q, but before it are %d with %d of %s: something was changed, or is missing",
			c.Files, c.Lines, c.Checksum, l.files, l.line-1, sum)
	}
	return nil
}

// checkFormat parses only the format version, since everything else may differ in another format.
func checkFormat(line []byte) error {
	var first struct {
		Header *struct {
			Format int `json:"format"`
		} `json:"header"`
	}
	if err := json.Unmarshal(line, &first); err != nil || first.Header == nil || first.Header.Format < 1 {
		return errors.New("is not the header of a record")
	}
	if f := first.Header.Format; f > RotatedVersion {
		return fmt.Errorf("is of format %d, and this holdfast reads formats up to %d: use a newer one", f, RotatedVersion)
	}
	return nil
}

// checkEnd compares the end line with everything before it.
func (l *eventLog) checkEnd(line []byte, end End) error {
	const digits = 8
	l.ended = true
	sealed := len(line) - len(endTail) - digits
	if sealed < 0 || !bytes.HasSuffix(line, []byte(endTail)) {
		return errors.New("is a damaged last line")
	}
	if want := l.line - 1; end.Lines != want {
		return fmt.Errorf("counts %d lines before it, but there are %d", end.Lines, want)
	}
	sum := fmt.Sprintf("%08x", Checksum(l.checksum, line[:sealed]))
	if written := string(line[sealed : sealed+digits]); written != sum {
		return fmt.Errorf("has checksum %.8q, but the lines before it have %s: a line was changed", written, sum)
	}
	return nil
}
