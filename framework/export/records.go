package export

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

// Open opens the only record with load below a folder: vegeta's tools know no scenarios. A record that cannot be read is an error, because it may
// be the one that was meant.
func Open(dir string) (history.Run, error) {
	records, err := runfolder.Records(dir)
	if err != nil {
		return history.Run{}, err
	}
	if len(records) == 0 {
		return history.Run{}, fmt.Errorf("export %s: there is no record in it; give a run's folder, such as artifacts/latest", dir)
	}
	var loaded []history.Run
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			return run, err
		}
		if run.Header.Plan != nil {
			loaded = append(loaded, run)
		}
	}
	switch len(loaded) {
	case 0:
		return history.Run{}, fmt.Errorf("export %s: it has no requests: no load was planned", dir)
	case 1:
		return loaded[0], nil
	}
	return history.Run{}, &SeveralError{Dir: dir, Scenarios: len(loaded), First: loaded[0].Header.Scenario}
}

// SeveralError is the error of an export of one scenario from a folder with several scenarios.
type SeveralError struct {
	Dir       string
	Scenarios int    // with load
	First     string // of them
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("%s has %d scenarios with load: name one, such as %s", e.Dir, e.Scenarios, filepath.Join(e.Dir, filepath.FromSlash(e.First)))
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
