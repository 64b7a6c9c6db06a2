package reports

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// maxReadBytes bounds what is read of a file. The report of three hundred scenarios is much smaller.
const maxReadBytes = 64 << 20

// ReadFile reads a file, up to a bound.
func ReadFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(io.LimitReader(file, maxReadBytes))
}

// Read reads a report.json. A document of another kind or version is an error; unknown fields are skipped. What only draws the page is
// absent, see Report.
func Read(name string) (r Report, err error) {
	data, err := ReadFile(name)
	if err != nil {
		return r, fmt.Errorf("read report: %w", err)
	}
	if err = json.Unmarshal(data, &r); r.SchemaVersion != SchemaVersion && json.Valid(data) {
		return Report{}, fmt.Errorf("read report: %s has version %q, but this holdfast reads only %s", name, r.SchemaVersion, SchemaVersion)
	}
	if err != nil {
		return Report{}, fmt.Errorf("read report: %s is damaged: %w", name, err)
	}
	return r, nil
}

// Form is a form of a document, in a file of its own.
type Form[T any] struct {
	File  string
	Write func(io.Writer, T) error
}

// WriteForms writes a document into a folder in each form. An error does not keep the other forms from being written.
func WriteForms[T any](dir string, content T, forms ...Form[T]) error {
	var errs []error
	for _, f := range forms {
		if err := Replace(filepath.Join(dir, f.File), content, f.Write); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.File, err))
		}
	}
	return errors.Join(errs...)
}

// WriteJSON writes a document for programs and readers.
func WriteJSON[T any](w io.Writer, content T) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false) // promises contain < and >, and this is not a web page
	return out.Encode(content)
}

// Replace writes a file under another name and renames it, so that neither a reader nor a full disk sees half a file.
func Replace[T any](name string, content T, write func(io.Writer, T) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	out := bufio.NewWriter(file)
	err = errors.Join(write(out, content), out.Flush(), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}
