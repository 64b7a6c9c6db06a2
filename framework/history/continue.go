package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Unfinished is what a recording had when its recorder ended.
type Unfinished struct {
	Header Header
	// State are the objects as they were last reported.
	State *State
	// Last is when something was last recorded.
	Last Offset
	// Phase is the last phase that began; empty: none had.
	Phase PhaseName
	// Workers are the load workers that ended with the recorder.
	Workers []string

	totals   map[string]bool // workers that have counted all that they sent
	segments map[string]bool // requests files that are listed as closed
}

// Continue goes on with a recording whose recorder was killed. What the recorder had not written to its end is closed, as far as it is whole,
// and a gap says that nothing was watched until now. From then on the record's clock follows the wall clock of the machine, which may have
// been set meanwhile, but never runs backwards.
//
// A record that is complete, is damaged anywhere but in its last line, or is not a recording, is an error, and stays as it is.
func Continue(dir string) (*Writer, Unfinished, error) {
	u := Unfinished{State: NewState(), totals: make(map[string]bool), segments: make(map[string]bool)}
	log := eventLog{keep: u.take}
	err := log.readAll(os.DirFS(dir), dir)
	if err == nil {
		err = continuable(&log, dir)
	}
	if err != nil {
		return nil, u, fmt.Errorf("continue record: %w", err)
	}
	u.Header = *log.header
	w := newWriter(dir, u.Header)
	w.header, w.lines, w.checksum, w.bytes, w.files = u.Header, log.line, log.checksum, log.bytes, log.files
	name := filepath.Join(dir, EventsFile)
	if err := os.Truncate(name, log.bytes); err != nil {
		return nil, u, fmt.Errorf("continue record: %w", err)
	}
	if w.file, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		return nil, u, fmt.Errorf("continue record: %w", err)
	}
	if err := w.resume(&u); err != nil {
		return nil, u, fmt.Errorf("continue record: %w", errors.Join(err, w.file.Close()))
	}
	return w, u, nil
}

// take takes in an event that was recorded.
func (u *Unfinished) take(e Event) {
	u.State.Apply(e)
	u.Last = max(u.Last, e.T)
	switch {
	case e.Phase != nil:
		u.Phase = e.Phase.Name
	case e.Load != nil:
		u.totals[e.Load.Worker] = true
	case e.Segment != nil:
		u.segments[e.Segment.File] = true
	case e.Resumed != nil:
		for _, worker := range e.Resumed.Workers {
			u.totals[worker] = true // it was told before
		}
	}
}

// continuable returns an error if a record cannot be continued. Only the last line may be damaged: the recorder was writing it.
func continuable(log *eventLog, dir string) error {
	name := filepath.Join(dir, EventsFile)
	switch {
	case log.header.Recorded == nil:
		return fmt.Errorf("%s is not that of a recording", name)
	case log.ended:
		return fmt.Errorf("%s is complete: record into another folder", name)
	case log.name != name:
		return errors.New(reasons(log.problems))
	}
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // only read
	if _, err := file.Seek(log.bytes, io.SeekStart); err != nil {
		return err
	}
	rest, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	if i := bytes.IndexByte(rest, '\n'); i >= 0 && i < len(rest)-1 {
		return fmt.Errorf("%s is damaged before its last line: %s", name, reasons(log.problems))
	}
	if log.files > 0 && len(rest) == 0 {
		log.files-- // the current file was read whole, and is not closed
	}
	return nil
}

// resume closes what the recorder had not closed, sets the clock, and says that nothing was recorded meanwhile.
func (w *Writer) resume(u *Unfinished) error {
	left, err := w.closeLeftovers(u)
	if err != nil {
		return err
	}
	now := time.Now()
	passed := now.Round(0).Sub(u.Header.Base)
	why := fmt.Sprintf("the recorder was away for %s", (passed - u.Last).Round(time.Second))
	if passed <= u.Last {
		passed = u.Last + time.Millisecond
		why = "the recorder was away for a time that is not known, because the clock of its machine was set back"
	}
	w.base, w.last = now.Add(-passed), u.Last
	for _, segment := range left {
		if err := w.Append(Event{T: passed, Segment: &segment}); err != nil {
			return err
		}
		w.pack(filepath.Join(w.dir, RequestsFolder, segment.File))
	}
	why += "; from here on times follow the clock of its machine, which may have been set meanwhile"
	return errors.Join(
		w.Append(Event{T: passed, Gap: &Gap{What: "all objects", Since: u.Last, Why: why}}),
		w.Append(Event{T: passed, Resumed: &Resumed{Since: u.Last, Workers: u.Workers}}),
	)
}

// closeLeftovers closes the requests files that the recorder left open, and finds the workers that ended with it.
func (w *Writer) closeLeftovers(u *Unfinished) (closed []Segment, err error) {
	folder := filepath.Join(w.dir, RequestsFolder)
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	w.next = make(map[string]int)
	workers := make(map[string]bool)
	for _, entry := range entries {
		file, ok := requestsFileOf(entry.Name())
		if !ok {
			continue
		}
		worker, number := file.Worker, file.Number
		workers[worker] = workers[worker] || !u.totals[worker]
		w.next[worker] = max(w.next[worker], number+1)
		if u.segments[file.Name] {
			continue
		}
		segment, last, err := closeLeftover(file, folder)
		if err != nil {
			return nil, err
		}
		u.segments[file.Name] = true
		if u.Last = max(u.Last, last); segment.Rows > 0 {
			closed = append(closed, segment)
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		if workers[worker] {
			u.Workers = append(u.Workers, worker)
		}
	}
	return closed, nil
}

// closeLeftover cuts the requests file of a killed recorder off after its last whole row, and says what it contains, and when its last
// request was done. A file without a row is removed.
func closeLeftover(l requestsFile, folder string) (segment Segment, last Offset, err error) {
	reading := requestReading{decoder: newDecoder(), last: make(map[string]Offset)}
	compressed, _ := unpackedName(l.Found)
	data, err := reading.load(os.DirFS(folder), requestFile{path: compressed, name: l.Found})
	if err != nil {
		return segment, 0, fmt.Errorf("close %s: %w", l.Found, err)
	}
	segment = Segment{File: l.Name, Bytes: int64(len(data)), Checksum: fmt.Sprintf("%08x", Checksum(0, data))}
	for r, err := range DecodeRequests(data) {
		if err != nil && len(data) > 0 {
			return segment, 0, fmt.Errorf("close %s: %w", l.Found, err)
		}
		if err == nil {
			segment.Rows, last = segment.Rows+1, max(last, r.Done)
		}
	}
	path := filepath.Join(folder, l.Found)
	switch {
	case segment.Rows == 0:
		err = os.Remove(path)
	case l.Found == l.Name+openSuffix:
		if err = os.Truncate(path, segment.Bytes); err == nil {
			err = os.Rename(path, filepath.Join(folder, l.Name))
		}
	}
	return segment, last, err
}
