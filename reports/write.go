package reports

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The names of the reports, in a run's folder.
const (
	HTMLFile     = "report.html"
	MarkdownFile = "report.md"
	JSONFile     = "report.json"
	JUnitFile    = "junit.xml"
)

// WriteAll writes all reports of a run into its folder, each whole or not at all. It tries them all, whichever fails.
// Call it when run.json has its end: until then the run counts as cut off.
func WriteAll(runDir string) error {
	r, err := Build(runDir)
	if err != nil {
		return err
	}
	return Write(runDir, r)
}

// Write is WriteAll of a model that was built already.
func Write(runDir string, r Report) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer, Report) error
	}{
		{JUnitFile, WriteJUnit}, {JSONFile, WriteJSON}, {MarkdownFile, WriteMarkdown}, {HTMLFile, WriteHTML},
	} {
		if err := Replace(filepath.Join(runDir, f.name), r, f.write); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
}

// Replace writes a file beside the old file and renames, so that a reader, or a full disk, never leaves half a report.
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
