package history

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// DecodeRequests reads what an Encoder wrote. Columns are identified by their names in the header row. Unknown columns are
// skipped, and missing optional columns are zero. The Request is valid only until the next iteration. An error contains the
// number of the row (the header row is row 1) and ends the sequence. A last row without a newline is an error.
func DecodeRequests(csv []byte) iter.Seq2[*Request, error] {
	return func(yield func(*Request, error) bool) {
		d := newDecoder()
		if err := d.header(csv); err != nil {
			yield(nil, err)
			return
		}
		for d.more() {
			if err := d.next(); err != nil {
				yield(nil, err)
				return
			}
			if !yield(&d.row, nil) {
				return
			}
		}
	}
}

// MaxLineBytes is the maximum length of a line in any file of a run: a longer line is damaged, and must not fill the
// memory.
const MaxLineBytes = 1 << 20

var (
	errCutOff   = errors.New("cut off in the middle of the line")
	errLongLine = fmt.Errorf("the line is longer than %d bytes", MaxLineBytes)
)

// decoder reads all rows into the same Request.
type decoder struct {
	row   Request
	known map[string]column
	texts texts

	columns []column // the columns of this file, in order; a zero column is skipped
	rest    []byte   // not yet read
	line    int      // number of the row that was read last
}

func newDecoder() *decoder {
	d := &decoder{known: make(map[string]column)}
	for _, c := range bind(&d.row) {
		d.known[c.name] = c
	}
	return d
}

// header starts a new file. Texts of earlier files are kept.
func (d *decoder) header(csv []byte) error {
	d.row, d.columns, d.line = Request{}, d.columns[:0], 1
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
		if c.required && !seen[name] {
			return d.fail(fmt.Errorf("no column is named %q: this is not a requests file", name))
		}
	}
	return nil
}

func (d *decoder) more() bool { return len(d.rest) > 0 }

func (d *decoder) fail(err error) error { return fmt.Errorf("row %d: %w", d.line, err) }

// next reads one row.
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
	if len(d.rest)-len(data) > MaxLineBytes {
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
	switch c := &d.columns[i]; {
	case c.signed != nil:
		return parseSigned(c.signed, data, stop)
	case c.count != nil:
		return parseCount(c.count, data, stop)
	case c.number != nil:
		return parseNumber(c.number, data, stop)
	case c.flag != nil:
		return parseFlag(c.flag, data, stop)
	case c.text != nil:
		text, hash, n, err := parseText(data, stop)
		if err == nil {
			*c.text = d.texts.get(text, hash)
		}
		return n, err
	default:
		_, _, n, err := parseText(data, stop)
		return n, err
	}
}
