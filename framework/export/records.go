package export

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// Open opens the records below a folder. An unreadable record is an error, because its rows would be missing.
func Open(dir string) ([]history.Run, error) {
	records, err := runfolder.Records(dir)
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, fmt.Errorf("export %s: there is no record in it; give a run's folder, such as artifacts/latest", dir)
	}
	var runs []history.Run
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	return runs, nil
}

// Loaded returns the only record with load: vegeta's tools know no scenarios.
func Loaded(dir string, runs []history.Run) ([]history.Run, error) {
	loaded := slices.DeleteFunc(runs, func(run history.Run) bool { return run.Header.Plan == nil })
	switch len(loaded) {
	case 0:
		return nil, fmt.Errorf("export %s: it has no requests: no load was planned", dir)
	case 1:
		return loaded, nil
	}
	return nil, &SeveralError{Dir: dir, Scenarios: len(loaded), First: loaded[0].Header.Scenario}
}

// SeveralError is the error of an export of one scenario from a folder with several scenarios.
type SeveralError struct {
	Dir       string
	Scenarios int    // with load
	First     string // of them
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%s has %d scenarios with load: name one, such as %s, or give --format csv", e.Dir, e.Scenarios,
		filepath.Join(e.Dir, filepath.FromSlash(e.First)))
}

// WriteTo writes to a file, or without a name to out. It removes a file that it could not write completely.
func WriteTo(out io.Writer, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(out)
	}
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := errors.Join(write(file), file.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
