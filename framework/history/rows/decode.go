package rows

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// MaxLineBytes is the maximum length of a line in any file of a run: a longer line is damaged, and must not fill the
// memory.
const MaxLineBytes = 1 << 20

// Errors of a damaged line.
var (
	ErrCutOff   = errors.New("cut off in the middle of the line")
	ErrLongLine = fmt.Errorf("the line is longer than %d bytes", MaxLineBytes)
)

// Decoder reads rows into the fields to which its columns are bound.
type Decoder struct {
	known map[string]Column
	texts texts

	columns []Column // the columns of this file, in order; a zero column is skipped
	rest    []byte   // not yet read
	line    int      // number of the row that was read last
}

// NewDecoder returns a Decoder.
func NewDecoder(columns []Column) *Decoder {
	d := &Decoder{known: make(map[string]Column)}
	for _, c := range columns {
		d.known[c.Name] = c
	}
	return d
}

// Header starts a new file, which is in memory as a whole. Columns are identified by their names in the header row; unknown
// columns are skipped. The fields of missing columns stay as they are.
func (d *Decoder) Header(csv []byte) error {
	d.columns, d.line = d.columns[:0], 1
	end := bytes.IndexByte(csv, '\n')
	if end < 0 {
		return d.fail(ErrCutOff)
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

// More reports whether the file has another row.
func (d *Decoder) More() bool { return len(d.rest) > 0 }

func (d *Decoder) fail(err error) error { return fmt.Errorf("row %d: %w", d.line, err) }

// Line is the number of the row that was read last. The header row is row 1.
func (d *Decoder) Line() int { return d.line }

// Next reads one row. An error contains the number of the row. A last row without a newline is an error.
func (d *Decoder) Next() error {
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
	if len(d.rest)-len(data) > MaxLineBytes {
		return d.fail(ErrLongLine)
	}
	d.rest = data
	return nil
}

// blame adds the row and the column to an error. If the data ends early, the error is ErrCutOff, whatever the field.
func (d *Decoder) blame(i int, err error) error {
	if bytes.IndexByte(d.rest, '\n') < 0 {
		return d.fail(ErrCutOff)
	}
	for name, c := range d.known {
		if c == d.columns[i] {
			return d.fail(fmt.Errorf("column %s: %w", name, err))
		}
	}
	return d.fail(fmt.Errorf("column %d: %w", i+1, err))
}

// field parses the field at the start of data into column i, and returns its length, including the stop byte.
func (d *Decoder) field(i int, data []byte, stop byte) (int, error) {
	switch c := &d.columns[i]; {
	case c.Signed != nil:
		return parseSigned(c.Signed, data, stop)
	case c.Count != nil:
		return parseCount(c.Count, data, stop)
	case c.Number != nil:
		return parseNumber(c.Number, data, stop)
	case c.Flag != nil:
		return parseFlag(c.Flag, data, stop)
	case c.Text != nil:
		text, hash, n, err := parseText(data, stop)
		if err == nil {
			*c.Text = d.texts.get(text, hash)
		}
		return n, err
	default:
		_, _, n, err := parseText(data, stop)
		return n, err
	}
}
