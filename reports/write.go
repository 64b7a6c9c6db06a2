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

// WriteAll writes all reports of a run into its folder, each completely or not at all. An error does not keep the other reports from being
// written. Call it when the run has ended in run.json; before that the run is reported as killed.
func WriteAll(runDir string) error {
	r, err := Build(runDir)
	if err != nil {
		return err
	}
	return Write(runDir, r)
}

// Write writes all formats of a report, as WriteAll does.
func Write(runDir string, r Report) error {
	var errs []error
	for _, f := range []struct {
		name  string
		write func(io.Writer, Report) error
	}{
		{JUnitFile, writeJUnit}, {JSONFile, writeJSON}, {MarkdownFile, writeMarkdown}, {HTMLFile, writeHTML},
	} {
		if err := Replace(filepath.Join(runDir, f.name), r, f.write); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", f.name, err))
		}
	}
	return errors.Join(errs...)
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
