package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// file is the local copy of a journal: one JSON value a line, first the header, then each entry whenever it changes. What was written is
// on the disk.
type file struct{ *os.File }

// createFile creates the file. Its folder knows it when createFile returns, also after a power cut.
func createFile(path string) (*file, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("create the local copy of the journal: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the local copy of the journal: %w", err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(folder.Sync(), folder.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the local copy of the journal: %w", err), f.Close())
	}
	return &file{f}, nil
}

// add appends a line, and returns when it is on the disk.
func (f *file) add(l line) error {
	text, err := json.Marshal(l)
	if err == nil {
		_, err = f.Write(append(text, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the local copy of the journal: %w", err)
	}
	return nil
}

// line is one line of the file. One of the two is set.
type line struct {
	Header *Header `json:"header,omitempty"`
	Entry  *Entry  `json:"entry,omitempty"`
}

// ReadFile reads the local copy of a journal: the header, and each entry as it was written last. A last line that was cut off counts as not
// written: the change was not made then. A header in the middle begins another journal: the one before it was undone.
func ReadFile(path string) (h Header, entries []Entry, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return h, nil, fmt.Errorf("read a local copy of a journal: %w", err)
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	n := 0
	for raw := range bytes.Lines(text) {
		var l line
		n++
		switch err := json.Unmarshal(raw, &l); {
		case err == nil && l.Header != nil:
			h, entries = *l.Header, nil
		case err == nil && l.Entry != nil && l.Entry.Seq == len(entries)+1:
			entries = append(entries, *l.Entry)
		case err == nil && l.Entry != nil && l.Entry.Seq > 0 && l.Entry.Seq <= len(entries):
			entries[l.Entry.Seq-1] = *l.Entry
		default:
			return h, nil, fmt.Errorf("read a local copy of a journal: %s, line %d is damaged: %w", path, n, errors.Join(err, errNoEntry))
		}
	}
	if h.Format != format {
		return h, nil, fmt.Errorf("read a local copy of a journal: the format of %s is %d, and this holdfast knows %d", path, h.Format, format)
	}
	return h, entries, nil
}
