package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

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
		line, err := lines.Next()
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
	if err := l.room.Take(line); err != nil {
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
