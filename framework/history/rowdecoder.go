package history

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// maxLineBytes is the maximum length of a line in any file of a run: a longer line is damaged, and must not fill the
// memory.
const maxLineBytes = 1 << 20

// Errors of a damaged line.
var (
	errCutOff   = errors.New("cut off in the middle of the line")
	errLongLine = fmt.Errorf("the line is longer than %d bytes", maxLineBytes)
)

// decoder reads rows, all into the same Request.
type decoder struct {
	row   Request
	known map[string]column
	texts textCache

	columns []column // the columns of this file, in order; a zero column is skipped
	rest    []byte   // not yet read
	line    int      // number of the row that was read last; the header row is row 1
}

func newDecoder() *decoder {
	d := &decoder{known: make(map[string]column)}
	for _, c := range bind(&d.row) {
		d.known[c.Name] = c
	}
	return d
}

// header starts a new file, which is in memory as a whole. Columns are identified by their names in the header row; unknown
// columns are skipped. The fields of missing columns stay as they are.
func (d *decoder) header(csv []byte) error {
	d.row = Request{}
	d.columns, d.line = d.columns[:0], 1
	end := bytes.IndexByte(csv, '\n')
	if end < 0 {
		return d.fail(errCutOff)
	}
	names := string(csv[:end])
	d.rest = csv[end+1:]
	seen := make(map[string]bool)
	for name := range strings.SplitSeq(names, ",") {
		if seen[name] {
			return d.fail(fmt.Errorf("two columns are named %.50q", name))
		}
		seen[name] = true
		d.columns = append(d.columns, d.known[name])
	}
	for name, c := range d.known {
		if c.Required && !seen[name] {
			return d.fail(fmt.Errorf("no column is named %q: this is not a requests file", name))
		}
	}
	return nil
}

// more reports whether the file has another row.
func (d *decoder) more() bool { return len(d.rest) > 0 }

func (d *decoder) fail(err error) error { return fmt.Errorf("row %d: %w", d.line, err) }

// next reads one row. An error contains the number of the row. A last row without a newline is an error.
func (d *decoder) next() error {
	d.line++
	data := d.rest
	final := len(d.columns) - 1
	for i := range d.columns {
		stop := byte(',')
		if i == final {
			stop = '\n'
		}
		n, err := d.field(i, data, stop)
		if err != nil {
			return d.blame(i, err)
		}
		data = data[n:]
	}
	if len(d.rest)-len(data) > maxLineBytes {
		return d.fail(errLongLine)
	}
	d.rest = data
	return nil
}

// blame adds the row and the column to an error. If the data ends early, the error is errCutOff, whatever the field.
func (d *decoder) blame(i int, err error) error {
	if bytes.IndexByte(d.rest, '\n') < 0 {
		return d.fail(errCutOff)
	}
	for name, c := range d.known {
		if c == d.columns[i] {
			return d.fail(fmt.Errorf("column %s: %w", name, err))
		}
	}
	return d.fail(fmt.Errorf("column %d: %w", i+1, err))
}

// field parses the field at the start of data into column i, and returns its length, including the stop byte.
func (d *decoder) field(i int, data []byte, stop byte) (int, error) {
	text, hash, n, err := parseText(data, stop)
	if err != nil {
		return 0, err
	}
	switch c := &d.columns[i]; { // the compiler does not copy a text for the parsing
	case c.Signed != nil:
		*c.Signed, err = strconv.ParseInt(string(text), 10, 64)
	case c.Count != nil:
		*c.Count, err = strconv.ParseUint(string(text), 10, 64)
	case c.Number != nil:
		var number int64
		number, err = strconv.ParseInt(string(text), 10, 32)
		*c.Number = int(number)
	case c.Flag != nil && (len(text) != 1 || text[0] != '0' && text[0] != '1'):
		return 0, errNoFlag
	case c.Flag != nil:
		*c.Flag = text[0] == '1'
	case c.Text != nil:
		*c.Text = d.texts.get(text, hash)
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errNumberTooLarge
	case err != nil:
		return 0, errNoNumber
	}
	return n, nil
}

// textCache returns the same string for equal bytes, because the rows of a file contain the same few names millions of times. A slot
// keeps its last text, so memory is bounded. Different texts in the same slot only cost a copy.
type textCache [1024]string

// get returns text as a string. hash must be the same for equal texts.
func (t *textCache) get(text []byte, hash uint32) string {
	slot := &t[hash%uint32(len(t))]
	if *slot != string(text) { // the compiler does not copy for the comparison
		*slot = string(text)
	}
	return *slot
}

var (
	errNoNumber       = errors.New("is not a whole number")
	errNumberTooLarge = errors.New("is too large a number")
	errNoFlag         = errors.New("is neither 0 nor 1")
	errFields         = errors.New("too many or too few fields")
	errQuotes         = errors.New("quotes do not match")
)

// parseText finds the text up to stop. The result points into data unless quotes had to be removed.
func parseText(data []byte, stop byte) (text []byte, hash uint32, used int, err error) {
	if len(data) > 0 && data[0] == '"' {
		return parseQuoted(data, stop)
	}
	for i, c := range data {
		if c == stop {
			return data[:i], hash, i + 1, nil
		}
		if c == ',' || c == '\n' {
			return nil, 0, 0, errFields
		}
		hash = hash*hashFactor + uint32(c)
	}
	return nil, 0, 0, errFields
}

// hashFactor gives names that differ in a single character different hashes.
const hashFactor = 31

func parseQuoted(data []byte, stop byte) (text []byte, hash uint32, used int, err error) {
	for i := 1; i+1 < len(data) && data[i] != '\n'; i++ {
		if data[i] == '"' {
			if data[i+1] == stop {
				return text, hash, i + 2, nil
			}
			if data[i+1] != '"' {
				break
			}
			i++
		}
		text = append(text, data[i])
		hash = hash*hashFactor + uint32(data[i])
	}
	return nil, 0, 0, errQuotes
}

// lineReader reads lines of at most maxLineBytes.
type lineReader struct {
	from *bufio.Reader
	long []byte // a line that does not fit into the buffer of from
}

// newLineReader returns a lineReader.
func newLineReader(from io.Reader) *lineReader { return &lineReader{from: bufio.NewReader(from)} }

// next returns a line with its newline, valid until the next call. It returns io.EOF after the last line, and errCutOff if
// the last line has no newline.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.from.ReadSlice('\n')
		if len(l.long)+len(part) > maxLineBytes {
			return nil, errLongLine
		}
		switch {
		case err == nil && len(l.long) == 0:
			return part, nil
		case errors.Is(err, io.EOF) && len(l.long)+len(part) > 0:
			return nil, errCutOff
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		l.long = append(l.long, part...)
		if err == nil {
			return l.long, nil
		}
	}
}

const (
	// mostBytes is the memory for events of about three weeks of a cluster with 150 nodes and 3,000 pods.
	mostBytes = 2 << 30
	// besideText is what an event takes beside its text.
	besideText = 256
)

// room bounds the memory that the lines of files take, of which a few bytes on a disk can be many. The zero value has room for mostBytes.
type room struct {
	Most  int64 // bytes; 0: mostBytes
	taken int64
}

// take returns an error if there is no room for what a line says.
func (r *room) take(line []byte) error {
	most := cmp.Or(r.Most, mostBytes)
	if r.taken += int64(len(line)) + besideText; r.taken > most {
		return fmt.Errorf("does not fit: with it the events take more than %d KiB of memory, and what follows is not read", most>>10)
	}
	return nil
}
